import { vmName } from './guest-facts.ts';
import { hostsTouched, namesOf, roomOf } from './host-room.ts';
import type { Finding, Invariant } from './invariant.ts';

/** What the licence of macOS allows on one Mac. */
const MOST = 2;

/** The licence's number always; the host's own, which is smaller while guests that nobody names hold slots, when a VM takes one. */
export const twoMacosGuests: Invariant = {
  name: 'two-macos-guests',
  sentence: 'At most two macOS guests run on a Mac.',
  subjects: hostsTouched,

  findings(name, step) {
    const room = roomOf(name, step);
    if (room === undefined) return [];
    const { host, held } = room;
    const isMac = (vm: { spec: { resolved?: { guestOS: string } } }) => vm.spec.resolved?.guestOS === 'macos';
    const [guests, takers] = [room.vms.filter(isMac), room.takers.filter(isMac)];
    const { total = MOST, used = 0 } = host.status?.macosSlots ?? {};
    const found: Finding[] = [];
    const say = (key: string, message: string) =>
      found.push({ key, message, objects: [`host/${name}`, ...guests.map(vmName).sort()] });
    if (held.macosGuests > MOST)
      say('bound', `host ${name} has ${held.macosGuests} macOS guests, and may have ${MOST}: ${namesOf(guests)}`);
    else if (held.macosGuests > total && takers.length > 0 && !step.first)
      say('slots', `host ${name} has ${held.macosGuests} macOS guests and ${total} slots; ${namesOf(takers)} took one`);
    if (used > MOST) say('running', `host ${name} runs ${used} macOS guests, and may run ${MOST}`);
    return found;
  },
};
