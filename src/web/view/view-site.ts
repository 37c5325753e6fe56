import { Elysia } from 'elysia';
import { parseCoin } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import { assetsController } from '../../http/pages/assets.ts';
import { viewPageHeaders } from '../../http/pages/page-headers.ts';
import type { RequestContext } from '../../http/plugins/rate-limit.ts';
import { respond } from '../../http/response/response.ts';
import { nextCookie } from '../cookies.ts';
import { redirect, responseOf } from '../page-request.ts';
import { signedInBy } from '../signed-in.ts';
import { type ViewSettings, viewPage } from './view-page.tsx';
import { VIEW_SCRIPTS, WORKER_SCRIPT } from './view-scripts.ts';
import { viewTokenAnswer } from './view-token.ts';

/** The Trusted Types policy that makes the URL of the worker, and no other. */
const WORKER_POLICY = 'bookreel-worker';
const VIEW = '/view';
/** Slugs and conditionIds. */
const MARKET_NAME = /^[\w.-]{1,200}$/;

interface PageContext extends RequestContext {
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly params?: { readonly market?: string };
}

/** The pages that show recordings. Their scripts get the data from /v1. */
export function viewSite(deps: ViewSettings) {
  const { tokens } = deps;
  const page = ({ request, set, query, params }: PageContext) => {
    const email = tokens && signedInBy(request, tokens.service)?.account.email;
    const { replay } = query;
    const content = viewPage({ ...deps, email, replay }, params?.market);
    return respond(set, content, viewPageHeaders(WORKER_POLICY, email !== undefined || deps.isReplay));
  };
  const site = new Elysia({ name: 'view-site', detail: { hide: true } }).use(
    assetsController([...VIEW_SCRIPTS, WORKER_SCRIPT]),
  );
  site.get(VIEW, page);
  site.get(`${VIEW}/:coin/:market`, (context) => {
    const { coin, market } = context.params;
    if (parseCoin(coin) !== undefined && MARKET_NAME.test(market)) return page(context);
    throw new DomainError('not-found', `this is not the path of a market: ${VIEW} lists the markets`);
  });
  if (tokens === undefined) return site;
  site.get(`${VIEW}/sign-in`, ({ request, set }) => {
    return responseOf(set, redirect('/sign-in', nextCookie(VIEW)), request, tokens.service.publicUrl);
  });
  site.post(`${VIEW}/token`, ({ request, set }) => viewTokenAnswer(tokens, { request, set }), {
    parse: 'none',
  });
  return site;
}
