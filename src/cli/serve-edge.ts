import { isLoopback } from '../domain/loopback.ts';
import type { AccessLog } from '../http/plugins/access-log.ts';
import type { Edge } from '../http/plugins/arrivals.ts';
import { Cors } from '../http/plugins/cors.ts';
import type { IpNetwork } from '../http/plugins/ip-address.ts';
import type { Log } from '../http/plugins/log.ts';

/** Settings about clients, proxies and host names. */
export interface EdgeOptions {
  readonly trustedProxies?: readonly IpNetwork[] | undefined;
  readonly corsOrigins?: readonly string[] | '*' | undefined;
  readonly allowedHosts?: ReadonlySet<string> | undefined;
  readonly publicUrl?: string | undefined;
}

/** The settings of the edge in the form that `createApp` needs. */
export function edgeOf(
  { trustedProxies = [], corsOrigins, allowedHosts, publicUrl }: EdgeOptions,
  accessLog: AccessLog | undefined,
): Edge {
  return {
    trustedProxies,
    isSecure: publicUrl?.startsWith('https:') === true,
    ...(accessLog === undefined ? {} : { accessLog }),
    ...(corsOrigins === undefined ? {} : { cors: new Cors(corsOrigins) }),
    ...(allowedHosts === undefined ? {} : { allowedHosts }),
  };
}

/** Returns true if settings say that clients of other machines connect through a proxy. */
export function isForOthers({ publicUrl, trustedProxies = [] }: EdgeOptions): boolean {
  return trustedProxies.length > 0 || (publicUrl !== undefined && !isLoopback(new URL(publicUrl).hostname));
}

/** Returns true if a setting suggests that clients of other machines connect through a proxy. */
export function mayBeProxied({ publicUrl, trustedProxies = [], allowedHosts }: EdgeOptions): boolean {
  return publicUrl !== undefined || trustedProxies.length > 0 || allowedHosts !== undefined;
}

/** A public URL with https needs TLS here, or at a proxy in front of this server. */
export function warnOfSharedLimits(
  log: Log,
  { publicUrl, trustedProxies = [], tlsCert }: EdgeOptions & { readonly tlsCert?: string | undefined },
): void {
  if (publicUrl?.startsWith('https:') !== true || trustedProxies.length > 0 || tlsCert !== undefined) return;
  log.warn(
    "all clients share the limits of one address: name the TLS proxy with --trusted-proxies ('bookreel manual public')",
  );
}
