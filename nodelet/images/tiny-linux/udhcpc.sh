#!/bin/sh
# Applies what DHCP says. Called by udhcpc with the event as its argument.
case $1 in
  deconfig)
    ip addr flush dev "$interface"
    ;;
  bound | renew)
    ip addr flush dev "$interface"
    ip addr add "$ip/${mask:-24}" dev "$interface"
    [ -n "$router" ] && ip route add default via "${router%% *}"
    for server in $dns; do echo "nameserver $server"; done >/etc/resolv.conf
    ;;
esac
