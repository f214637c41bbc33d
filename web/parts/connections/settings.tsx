import { useEffect, useState } from "react";
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
import { Held } from "../layout/detail.tsx";
import { ConnectionSignInFacts } from "./sign-in.tsx";
import { TestButton, TrialResult, trialFaults } from "./trial.tsx";

/** Only the differences. Null removes a key. */
function changesOf(before: Values, after: Values): Values {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...names]
      .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
      .map((name) => [name, after[name] ?? null]),
  );
}

const ifAny = (name: string, of: Values): Values => (Object.keys(of).length > 0 ? { [name]: of } : {});

const settingsOf = ({ name, slug, approvalRequired, config, hasCredentials }: Connection) =>
  JSON.stringify([name, slug, approvalRequired, config, hasCredentials]);

interface Props {
  connection: Connection;
  provider: Provider | null;
}

/** Names, config and credentials. Stored credentials are never shown. */
export const ConnectionSettings = ({ connection, provider }: Props) => (
  <Held of={connection} isSame={(before, after) => settingsOf(before) === settingsOf(after)}>
    {(base, onDirty) => <Settings connection={base} provider={provider} onDirty={onDirty} />}
  </Held>
);

function Settings({ connection, provider, onDirty }: Props & { onDirty: (isDirty: boolean) => void }) {
  const may = useMay("member");
  const { name, slug, approvalRequired } = connection;
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
      onDirty(false);
      if (status === "needs_verification") verify.mutate({ path: { connection_id: id } });
    },
  });
  const test = useChange("POST /api/v1/connections/{connection_id}/test", {
    touches: [],
    tellsErrors: false,
  });
  const faults = [...faultsOf(save.error), ...trialFaults(test)];
  const settings = {
    ...ifAny("config", changesOf(connection.config, config)),
    ...ifAny("credentials", credentials),
  };
  const body = {
    ...changesOf({ name, slug, approvalRequired }, { ...named, approvalRequired: rule }),
    ...settings,
  };
  const isChanged = Object.keys(body).length > 0;
  useEffect(() => onDirty(isChanged), [isChanged, onDirty]);
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
  const path = { connection_id: connection.id };
  return (
    <FormFrame
      title={t("Settings")}
      call={save}
      drawn={["name", "slug", "approvalRequired", "config", "credentials"]}
      isChanged={isChanged}
      onSend={() => {
        test.reset();
        save.mutate({ path, body: body as never });
      }}
      beside={
        <TestButton
          test={test}
          onTest={() => {
            save.reset();
            test.mutate({ path, body: settings });
          }}
        />
      }
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
                onChange={(next) => {
                  test.reset();
                  setCredentials(next);
                }}
                at={["body", "credentials"]}
                faults={faults}
              />
            </Section>
          )}
          <ConnectionSignInFacts connection={connection} />
          <Details of={connection} />
          <TrialResult test={test} />
        </>
      }
    >
      <NameFields value={named} onChange={setNamed} messageFor={messagesBy(save.error)}>
        <ApprovalRule value={rule} onChange={setRule} fault={messagesBy(save.error)("approvalRequired")} />
      </NameFields>
      <SchemaForm
        schema={provider.configSchema}
        value={config}
        onChange={(next) => {
          test.reset();
          setConfig(next);
        }}
        at={["body", "config"]}
        faults={faults}
        minor={["baseUrl"]}
      />
    </FormFrame>
  );
}

type Rule = Connection["approvalRequired"];

function ApprovalRule({
  value,
  onChange,
  fault,
}: {
  value: Rule;
  onChange: (rule: Rule) => void;
  fault: string | undefined;
}) {
  const maySet = useMay("admin");
  return (
    <Labelled
      label={t("Approval required")}
      about={maySet ? t("Runs wait for approval before they use this connection.") : onlyAdminsChange()}
      fault={fault}
    >
      {(wiring) => (
        <select
          {...wiring}
          className="field"
          value={value}
          disabled={!maySet}
          onChange={(event) => onChange(event.target.value as Rule)}
        >
          <option value="none">{t("None")}</option>
          <option value="writes">{t("Writes")}</option>
          <option value="all">{t("Every use")}</option>
        </select>
      )}
    </Labelled>
  );
}

const Details = ({ of }: { of: Connection }) => (
  <Section title={t("Details")}>
    <Facts
      of={[
        ["ID", <Mono key="id" text={of.id} />],
        [t("Created"), <When key="made" at={of.createdAt} />],
        [t("Updated"), <When key="changed" at={of.updatedAt} />],
        [t("Last used"), <When key="used" at={of.lastUsedAt} />],
      ]}
    />
  </Section>
);
