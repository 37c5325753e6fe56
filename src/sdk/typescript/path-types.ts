import type { paths } from './api.ts';

type Operation<M extends string, P extends keyof paths> = paths[P] extends { [method in M]: infer O } ? O : never;
/** The paths with a method. */
export type PathOf<M extends string> = {
  [P in keyof paths]: paths[P] extends { [method in M]: object } ? P : never;
}[keyof paths];
type Instants = 'from' | 'to' | 'ts' | 'asOf' | 'asOfReceived' | 'before';
type Loose<V> = string extends V ? V : 'true' extends V ? V | boolean : V;
type Given<T> = { [K in keyof T]: K extends Instants ? T[K] | Date : Loose<T[K]> };
type Where<O, W extends string> = O extends { parameters: { [where in W]?: infer T } }
  ? [NonNullable<T>] extends [never]
    ? unknown
    : NonNullable<T>
  : unknown;
/** The parameters of a path and of its query, together. */
export type Parameters<M extends string, P extends keyof paths> = Given<
  Where<Operation<M, P>, 'path'> & Where<Operation<M, P>, 'query'>
>;
type Content<R> = R extends { content: infer C } ? (C extends { 'application/json': infer J } ? J : string) : never;
/** The document that a request gets; a text where a path has no JSON. */
export type Answer<M extends string, P extends keyof paths> =
  Operation<M, P> extends { responses: infer R } ? Content<R[keyof R & (200 | 201 | 202)]> : never;
/** The body that a request takes. */
export type Body<M extends string, P extends keyof paths> =
  Operation<M, P> extends { requestBody?: infer B }
    ? NonNullable<B> extends { content: { 'application/json': infer J } }
      ? J
      : undefined
    : undefined;
