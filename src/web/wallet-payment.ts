/** A transfer that a wallet signs, as a page has it for its script. */
export interface WalletPayment {
  /** The requirements of the challenge. */
  readonly accepted: { readonly network: string; readonly maxTimeoutSeconds: number };
  readonly transfer: {
    readonly domain: { readonly chainId: number };
    /** Without `from` and `validBefore`. */
    readonly message: object;
  };
  /** The network as a wallet adds it (EIP-3085); undefined: the settings do not have it. */
  readonly network: object | undefined;
  /** Unix seconds by the clock of the service, when it made the page. */
  readonly nowSeconds: number;
}
