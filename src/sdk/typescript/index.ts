// biome-ignore-all lint/performance/noBarrelFile: the one entry of the package
// biome-ignore-all lint/performance/noReExportAll: the one entry of the package
export { readSnapshots } from '../../client/segment-reader.ts';
export type * from './api.ts';
export * from './client.ts';
export * from './errors.ts';
