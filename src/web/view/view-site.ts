import { Elysia } from 'elysia';
import { parseCoin } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import { assetsController } from '../../http/pages/assets.ts';
import { viewPageHeaders } from '../../http/pages/page-headers.ts';
import { respond } from '../../http/response/response.ts';
import { nextCookie } from '../cookies.ts';
import { redirect, responseOf } from '../page-request.ts';
import { type ViewSettings, viewPage } from './view-page.tsx';
import { VIEW_SCRIPTS, WORKER_SCRIPT } from './view-scripts.ts';
import { viewTokenAnswer } from './view-token.ts';

/** The Trusted Types policy that makes the URL of the worker, and no other. */
const WORKER_POLICY = 'bookreel-worker';
const VIEW = '/view';
/** Slugs and conditionIds. */
const MARKET_NAME = /^[\w.-]{1,200}$/;

/** The pages that show recordings. Their scripts get the data from /v1. */
export function viewSite(deps: ViewSettings) {
  const { tokens } = deps;
  const headers = viewPageHeaders(WORKER_POLICY);
  const site = new Elysia({ name: 'view-site', detail: { hide: true } }).use(
    assetsController([...VIEW_SCRIPTS, WORKER_SCRIPT]),
  );
  site.get(VIEW, ({ set }) => respond(set, viewPage(deps), headers));
  site.get(`${VIEW}/:coin/:market`, ({ params: { coin, market }, set }) => {
    if (parseCoin(coin) !== undefined && MARKET_NAME.test(market)) return respond(set, viewPage(deps, market), headers);
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
