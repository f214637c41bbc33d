import type { Provider, Providers } from "./contract.ts";
import { localFiles } from "./local-files.ts";
import { postgres } from "./postgres.ts";
import { s3 } from "./s3.ts";

const all: readonly Provider[] = [localFiles, postgres, s3];

/** To add a provider: write its file, add its line. The conformance test runs over it at once. */
export const providers: Providers = new Map(all.map((provider) => [provider.id, provider]));
