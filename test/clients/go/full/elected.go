package main

import (
	"context"
	"time"

	"coppice.dev/test/clients/checks"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var elected = []checks.Check{
	{Name: "leader election: one leads at a time, over a restart, and the next one when it lets go", Try: election},
}

func election(ctx context.Context) {
	client := kubernetes.NewForConfigOrDie(checks.Dial().Config)
	led := make(chan string, 8)
	candidate := func(name string) context.CancelFunc {
		lock := checks.Got(resourcelock.New(resourcelock.LeasesResourceLock, ns, "elected", client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name}))
		elector := checks.Got(leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { led <- name },
				OnStoppedLeading: func() { led <- name + " no more" },
			},
		}))
		running, stop := context.WithCancel(ctx)
		go elector.Run(running)
		return stop
	}
	stopFirst := candidate("first")
	checks.Equal(<-led, "first")
	stopSecond := candidate("second")
	renewed := func() time.Time {
		return checks.Got(client.CoordinationV1().Leases(ns).Get(ctx, "elected", metav1.GetOptions{})).Spec.RenewTime.Time
	}
	checks.Restart()
	since := renewed()
	checks.Until("it renews", func() bool { return renewed().After(since) })
	stopFirst()
	checks.Equal([]string{<-led, <-led}, []string{"first no more", "second"})
	spec := checks.Got(client.CoordinationV1().Leases(ns).Get(ctx, "elected", metav1.GetOptions{})).Spec
	checks.Equal([]any{*spec.HolderIdentity, *spec.LeaseTransitions}, []any{"second", int32(1)})
	stopSecond()
	checks.Equal(<-led, "second no more")
}
