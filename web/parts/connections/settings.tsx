import { useState } from "react";
import type { Connection, Provider } from "../../calls.ts";
import { useChange, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Mono } from "../base/copy.tsx";
import { Labelled } from "../base/labelled.tsx";
import { Facts, Section } from "../base/page.tsx";
import { onlyAdminsChange } from "../base/texts.ts";
import { When } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";
import { SchemaForm, type Values } from "../form/form.tsx";
import { FormFrame, faultsOf, messagesBy, NameFields } from "../form/frame.tsx";
import { propertiesOf } from "../form/schema.ts";
import { ConnectionSignInFacts } from "./sign-in.tsx";

/** Only what differs. Null removes a key. */
function changesOf(before: Values, after: Values): Values {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...names]
      .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
      .map((name) => [name, after[name] ?? null]),
  );
}

const ifAny = (name: string, of: Values): Values => (Object.keys(of).length > 0 ? { [name]: of } : {});

/** Names, config and credentials. Stored credentials are never shown. */
export function ConnectionSettings({
  connection,
  provider,
}: {
  connection: Connection;
  provider: Provider | null;
}) {
  const may = useMay("member");
  const { name, slug, approvalRequired } = connection;
  const maySet = useMay("admin");
  const [rule, setRule] = useState(approvalRequired);
  const [named, setNamed] = useState({ name, slug });
  const [config, setConfig] = useState<Values>(connection.config);
  const [credentials, setCredentials] = useState<Values>({});
  const verify = useChange("POST /api/v1/connections/{connection_id}/verify", { touches: ["/connections"] });
  const save = useChange("PATCH /api/v1/connections/{connection_id}", {
    basedOn: connection,
    touches: ["/connections"],
    tellsErrors: false,
    done: t("Connection saved"),
    onDone: ({ id, status }) => {
      setCredentials({});
      if (status === "needs_verification") verify.mutate({ path: { connection_id: id } });
    },
  });
  const faults = faultsOf(save.error);
  if (!provider || !may) {
    return (
      <>
        <Section title={t("Configuration")}>
          <Tree value={connection.config} copyLabel={t("Copy config as JSON")} />
        </Section>
        <ConnectionSignInFacts connection={connection} />
      </>
    );
  }
  const body = {
    ...changesOf({ name, slug, approvalRequired }, { ...named, approvalRequired: rule }),
    ...ifAny("config", changesOf(connection.config, config)),
    ...ifAny("credentials", credentials),
  };
  return (
    <FormFrame
      title={t("Settings")}
      call={save}
      drawn={["name", "slug", "approvalRequired", "config", "credentials"]}
      isChanged={Object.keys(body).length > 0}
      onSend={() => save.mutate({ path: { connection_id: connection.id }, body: body as never })}
      more={
        <>
          {propertiesOf(provider.credentialsSchema).length > 0 && (
            <Section
              title={t("Credentials")}
              aside={
                connection.hasCredentials
                  ? t("Saved. Enter a value only to replace it.")
                  : t("No credentials saved")
              }
            >
              <SchemaForm
                schema={{ ...provider.credentialsSchema, required: [] }}
                value={credentials}
                onChange={setCredentials}
                at={["body", "credentials"]}
                faults={faults}
              />
            </Section>
          )}
          <ConnectionSignInFacts connection={connection} />
          <Section title={t("Details")}>
            <Facts
              of={[
                ["ID", <Mono key="id" text={connection.id} />],
                [t("Created"), <When key="made" at={connection.createdAt} />],
                [t("Updated"), <When key="changed" at={connection.updatedAt} />],
                [t("Last used"), <When key="used" at={connection.lastUsedAt} />],
              ]}
            />
          </Section>
        </>
      }
    >
      <NameFields value={named} onChange={setNamed} messageFor={messagesBy(save.error)}>
        <Labelled
          label={t("Approval required")}
          about={maySet ? t("Runs wait for approval before they use this connection.") : onlyAdminsChange()}
          fault={messagesBy(save.error)("approvalRequired")}
        >
          {(wiring) => (
            <select
              {...wiring}
              className="field"
              value={rule}
              disabled={!maySet}
              onChange={(event) => setRule(event.target.value as Connection["approvalRequired"])}
            >
              <option value="none">{t("None")}</option>
              <option value="writes">{t("Writes")}</option>
              <option value="all">{t("Every use")}</option>
            </select>
          )}
        </Labelled>
      </NameFields>
      <SchemaForm
        schema={provider.configSchema}
        value={config}
        onChange={setConfig}
        at={["body", "config"]}
        faults={faults}
        minor={["baseUrl"]}
      />
    </FormFrame>
  );
}
