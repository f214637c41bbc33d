import { Ban, ChevronDown, Plus, RotateCcw, ShieldCheck, Star } from "lucide-react";
import { Link } from "wouter";
import type { Connection, Provider } from "../calls.ts";
import { useApi, useChange } from "../data.ts";
import { Button, LinkButton } from "../parts/base/button.tsx";
import { Menu } from "../parts/base/menu.tsx";
import { Loading, Shown } from "../parts/base/page.tsx";
import { useProviders } from "../parts/base/providers.ts";
import { Tag } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { Files } from "../parts/connections/files.tsx";
import { providerOf } from "../parts/connections/from-template.ts";
import { Tables } from "../parts/connections/remote-tables.tsx";
import { ConnectionSettings } from "../parts/connections/settings.tsx";
import { ConnectionSignInWanted } from "../parts/connections/sign-in.tsx";
import { ConnectionUsers, DeleteConnection } from "../parts/connections/users.tsx";
import { Detail } from "../parts/layout/detail.tsx";
import { serverSentence, t } from "../texts/text.ts";

export default function ConnectionPage({ id }: { id: string }) {
  const connection = useApi("GET /api/v1/connections/{connection_id}", { path: { connection_id: id } });
  const providers = useProviders();
  return (
    <Shown of={connection} isPage>
      {(data) => (
        <Shown of={providers}>
          {({ providers: all }) =>
            data.templateId === null ? (
              <Whole connection={data} provider={all.find((each) => each.id === data.provider) ?? null} />
            ) : (
              <OfTemplate connection={data} templateId={data.templateId} />
            )
          }
        </Shown>
      )}
    </Shown>
  );
}

/** A connection from a template that may have been deleted. */
function OfTemplate({ connection, templateId }: { connection: Connection; templateId: string }) {
  const template = useApi("GET /api/v1/templates/{template_id}", { path: { template_id: templateId } });
  if (template.isLoading) return <Loading />;
  return <Whole connection={connection} provider={template.data ? providerOf(template.data) : null} />;
}

function Whole({ connection, provider }: { connection: Connection; provider: Provider | null }) {
  const { files, schema } = provider?.capabilities ?? { files: false, schema: false };
  return (
    <Detail
      deleteLabel={t("Delete connection")}
      from={["/connections", t("Connections")]}
      of={connection}
      beside={connection.isDefault && <Tag>{t("Default")}</Tag>}
      what={provider?.title ?? connection.provider}
      known={
        connection.lastVerifiedAt ? (
          <>
            {t("Verified")} <When at={connection.lastVerifiedAt} />
          </>
        ) : (
          t("Never verified")
        )
      }
      actions={<ConnectionActions connection={connection} />}
      remove={(onClose) => <DeleteConnection connection={connection} onClose={onClose} />}
      alert={
        <>
          <ConnectionSignInWanted connection={connection} />
          {connection.verificationError && (
            <p
              role="alert"
              className="mb-5 rounded-lg border border-bad/30 bg-bad-soft px-4 py-3 text-sm text-bad"
            >
              {serverSentence(connection.verificationError)}{" "}
              <Link href="?tab=settings" className="whitespace-nowrap underline">
                {t("Check settings")}
              </Link>
            </p>
          )}
        </>
      }
      tabs={[
        [
          "files",
          t("Files"),
          files &&
            (() => (
              <Files
                connection={connection}
                canUpload={provider?.capabilities.upload ?? false}
                canLoad={provider?.capabilities.extract ?? false}
              />
            )),
        ],
        [
          "tables",
          t("Tables"),
          schema &&
            (() => <Tables connectionId={connection.id} canLoad={provider?.capabilities.extract ?? false} />),
        ],
        ["settings", t("Settings"), () => <ConnectionSettings connection={connection} provider={provider} />],
        ["users", t("Used by"), () => <ConnectionUsers id={connection.id} />],
      ]}
    />
  );
}

function ConnectionActions({ connection }: { connection: Connection }) {
  const path = { path: { connection_id: connection.id } };
  const touches = ["/connections"] as const;
  const verify = useChange("POST /api/v1/connections/{connection_id}/verify", { touches });
  const disable = useChange("POST /api/v1/connections/{connection_id}/disable", {
    touches,
    done: t("Connection disabled. Runs that use it will fail."),
  });
  const reactivate = useChange("POST /api/v1/connections/{connection_id}/reactivate", {
    touches,
    done: t("Connection reactivated. Verify it before use."),
  });
  const makeDefault = useChange("POST /api/v1/connections/{connection_id}/set-default", {
    touches,
    done: t("Set as default"),
  });
  const isOff = connection.status === "disabled";
  return (
    <>
      <Menu
        label={t("More")}
        align="right"
        buttonClass="inline-flex h-8 items-center gap-1 rounded-md border border-strong-line bg-raised px-3 text-sm font-medium hover:bg-sunken"
        button={
          <>
            {t("More")} <ChevronDown size={14} aria-hidden />
          </>
        }
        items={[
          {
            name: t("Set as default"),
            icon: Star,
            isDisabled: connection.isDefault,
            onPick: () => makeDefault.mutate(path),
          },
          isOff
            ? { name: t("Reactivate"), icon: RotateCcw, onPick: () => reactivate.mutate(path) }
            : { name: t("Disable"), icon: Ban, onPick: () => disable.mutate(path) },
        ]}
      />
      <LinkButton href={`/actions/new?connection=${connection.id}`} icon={Plus}>
        {t("New action")}
      </LinkButton>
      <Button
        kind="main"
        icon={ShieldCheck}
        busy={verify.isPending}
        disabled={isOff}
        onClick={() => verify.mutate(path)}
      >
        {t("Verify")}
      </Button>
    </>
  );
}
