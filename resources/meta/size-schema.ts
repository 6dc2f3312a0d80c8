import { Type } from './type.ts';

/** How large a VM is: a name, or its parts. Judged by `knownSize`. */
export function vmSize() {
  return Type.Optional(
    Type.Unsafe<'small' | 'medium' | 'large' | { vcpus?: number; memory?: string; disk?: string }>({
      description:
        'How large it is: small (2 vCPUs, 4Gi), medium (4, 8Gi), large (8, 16Gi), or an object with vcpus, memory and disk. Absent means the defaults of the image, else 4 vCPUs and 8Gi.',
      'x-kubernetes-preserve-unknown-fields': true,
    }),
  );
}
