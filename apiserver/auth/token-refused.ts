/** A bearer token is not good. The message says why, and nothing of the token. */
export class TokenRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TokenRefused';
  }
}
