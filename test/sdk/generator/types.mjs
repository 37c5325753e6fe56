// Reads an API document from standard input, and prints its types as TypeScript.
import openapiTS, { astToString } from 'openapi-typescript';

process.stdout.write(astToString(await openapiTS(await new Response(Bun.stdin.stream()).json())));
