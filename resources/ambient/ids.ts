/** Chance, handed in. */
export interface Ids {
  /** A random UUID (version 4). */
  uid(): string;
  /** `length` characters from the alphabet Kubernetes uses for generated names (no vowels, no look-alikes). */
  suffix(length: number): string;
  /** `bytes` bytes of cryptographic randomness, as lowercase hex. */
  secret(bytes: number): string;
}

/** The alphabet of generated names (k8s.io/apimachinery/pkg/util/rand). */
export const NAME_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
