import { DriverError, type DriverErrorReason } from '../driver.ts';

const KNOWN: readonly (readonly [RegExp, DriverErrorReason, string])[] = [
  [/Failed to get "write" lock/, 'InUse', 'a disk of it is attached to another guest'],
  [/Cannot lock pid file/, 'InUse', 'another QEMU runs it already'],
  [/cannot set up guest memory|Cannot allocate memory/, 'Failed', 'the host has not enough memory'],
  [/No space left on device/, 'NoSpace', 'the disk of the host is full'],
  [
    /Image is not in qcow2 format|Could not open backing file|Unsupported (cluster size|qcow2 version)/,
    'Invalid',
    'its disk is not readable',
  ],
  [
    /could not load kernel|could not open kernel|could not load initrd|Could not open '[^']*'/i,
    'ImageMissing',
    'a file of it is not there',
  ],
  [
    /Could not access KVM kernel module: Permission denied/,
    'Failed',
    'no permission to use KVM; add this user to the group kvm',
  ],
  [
    /Could not access KVM kernel module|failed to set MSR/,
    'Failed',
    'KVM does not work on this host; set the accelerator to auto or tcg',
  ],
  [/unsupported machine type/, 'Unsupported', 'this QEMU lacks its machine type'],
];

/** Makes an error of what QEMU wrote before it gave up. `label` names the guest. */
export function classifyFailure(label: string, stderr: string): DriverError {
  // QEMU puts its own name before each line; the last lines are the cause.
  const lines = stderr
    .split('\n')
    .map((line) => line.replace(/^\S*qemu-system-\w+: /, '').trim())
    .filter((line) => line !== '');
  const words = lines.slice(-2).join('; ').slice(-400);
  const [, reason, why] = KNOWN.find(([pattern]) => pattern.test(stderr)) ?? [
    undefined,
    'Failed' as const,
    'QEMU gave up',
  ];
  return new DriverError(reason, `guest ${label} did not start: ${why}${words === '' ? '' : ` (${words})`}`);
}
