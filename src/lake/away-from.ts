import type { Clock } from "../base/clock.ts";
import { ConfigError } from "../base/config-error.ts";
import { type EgressOptions, openEgress } from "../base/egress.ts";
import { toOwn } from "../base/egress-gate.ts";
import { type Away, openAway } from "./away.ts";

/** Settings of the backup bucket, with the names they have in `Config` and `Secrets`. */
export interface AwaySettings {
  backupEndpoint: string | null;
  backupRegion: string | null;
  backupAccessKeyId: string | null;
  backupSecretAccessKey: string | null;
  backupSessionToken: string | null;
}

interface Means {
  egress: EgressOptions;
  clock: Clock;
  signal: AbortSignal;
}

/** Opens `s3://BUCKET/PREFIX` with the configured keys. Throws `ConfigError` if there are none. */
export function awayFrom(url: string, settings: AwaySettings, { egress, clock, signal }: Means): Away {
  const { backupEndpoint: endpointUrl, backupRegion: region } = settings;
  const { backupAccessKeyId: accessKeyId, backupSecretAccessKey: secretAccessKey } = settings;
  if (accessKeyId === null || secretAccessKey === null) {
    throw new ConfigError(
      `${url} needs keys: set WEIR_BACKUP_ACCESS_KEY_ID and WEIR_BACKUP_SECRET_ACCESS_KEY.`,
    );
  }
  const [bucket = "", ...prefix] = url.replace("s3://", "").split("/");
  return openAway(
    {
      bucket,
      prefix: prefix.join("/"),
      ...(endpointUrl ? { endpointUrl } : {}),
      ...(region ? { region } : {}),
    },
    {
      accessKeyId,
      secretAccessKey,
      ...(settings.backupSessionToken ? { sessionToken: settings.backupSessionToken } : {}),
    },
    { egress: openEgress(toOwn(egress, endpointUrl)), clock, signal },
  );
}
