import { useState } from "react";
import { useLocation } from "wouter";
import { call } from "../../api.ts";
import type { Schema } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Mono } from "../base/copy.tsx";
import { Labelled } from "../base/labelled.tsx";
import { Section } from "../base/page.tsx";
import { SchemaForm, type Values } from "../form/form.tsx";
import { FormFrame, faultsOf, messagesBy, NameFields } from "../form/frame.tsx";
import { propertiesOf, startValue } from "../form/schema.ts";
import { partsOf, takesString } from "./connection-string.ts";
import { leaveToSignIn } from "./sign-in.tsx";
import { TestButton, TrialResult, trialFaults } from "./trial.tsx";

/** What a connection is created from: a provider, or a template. */
export interface Source {
  title: string;
  description: string | null;
  configSchema: Schema;
  credentialsSchema: Schema;
  /** How the request refers to it. */
  named: { provider: string } | { templateId: string };
  /** True if its connections need a sign-in. */
  hasSignIn: boolean;
  /** Config fields that few users change. */
  minor: readonly string[];
}

/** Form for a new connection, which is then signed in to or verified. */
export function NewConnectionForm({
  source,
  name,
  redirectUri,
}: {
  source: Source;
  name: string;
  redirectUri: string | null;
}) {
  const [, go] = useLocation();
  const [named, setNamed] = useState({ name, slug: "" });
  const [config, setConfig] = useState<Values>(() => startValue(source.configSchema));
  const [credentials, setCredentials] = useState<Values>({});
  const create = useChange("POST /api/v1/connections", {
    touches: ["/connections"],
    tellsErrors: false,
    async onDone({ id }) {
      // The connection's page shows the result.
      const isAway = await leaveToSignIn(id).catch(() => null);
      if (isAway) return;
      if (isAway === false)
        await call("POST /api/v1/connections/{connection_id}/verify", { path: { connection_id: id } }).catch(
          () => null,
        );
      go(`/connections/${id}`);
    },
  });
  const test = useChange("POST /api/v1/connections/test", { touches: [], tellsErrors: false });
  const faults = [...faultsOf(create.error), ...trialFaults(test)];
  const settings = {
    ...source.named,
    config: config as never,
    credentials: credentials as Record<string, string>,
  };
  const save = () => {
    test.reset();
    create.mutate({ body: { name: named.name, ...settings, ...(named.slug ? { slug: named.slug } : {}) } });
  };
  const change = (next: { config?: Values; credentials?: Values }) => {
    test.reset();
    if (next.config) setConfig(next.config);
    if (next.credentials) setCredentials(next.credentials);
  };
  return (
    <FormFrame
      title={source.title}
      aside={source.description}
      call={create}
      drawn={["name", "slug", "config", "credentials"]}
      verb={source.hasSignIn ? t("Create and sign in") : t("Create and verify")}
      onSend={save}
      beside={
        <TestButton
          test={test}
          onTest={() => {
            create.reset();
            test.mutate({ body: { name: named.name || source.title, ...settings } });
          }}
        />
      }
      more={
        <>
          {propertiesOf(source.credentialsSchema).length > 0 && (
            <Section title={t("Credentials")} aside={t("Stored encrypted and never shown again")}>
              {source.hasSignIn && redirectUri !== null && (
                <p className="mb-4 text-sm text-soft">
                  {t("Allow this redirect URI in the OAuth app:")} <Mono text={redirectUri} />
                </p>
              )}
              <SchemaForm
                schema={source.credentialsSchema}
                value={credentials}
                onChange={(next) => change({ credentials: next })}
                at={["body", "credentials"]}
                faults={faults}
              />
            </Section>
          )}
          <TrialResult test={test} />
        </>
      }
    >
      <NameFields value={named} onChange={setNamed} messageFor={messagesBy(create.error)} isNew />
      {"provider" in source.named && takesString(source.named.provider) && (
        <ConnectionString
          provider={source.named.provider}
          onParts={(parts) =>
            change({
              config: { ...config, ...parts.config },
              credentials: { ...credentials, ...parts.credentials },
            })
          }
        />
      )}
      <SchemaForm
        schema={source.configSchema}
        value={config}
        onChange={(next) => change({ config: next })}
        at={["body", "config"]}
        faults={faults}
        minor={source.minor}
      />
    </FormFrame>
  );
}

interface StringProps {
  provider: string;
  onParts: (parts: NonNullable<ReturnType<typeof partsOf>>) => void;
}

/** Fills in the form from a pasted connection string. */
function ConnectionString({ provider, onParts }: StringProps) {
  const [text, setText] = useState("");
  const [message, setMessage] = useState<string | null>(null);
  const [isWrong, setWrong] = useState(false);
  const take = (address: string): boolean => {
    const parts = partsOf(address, provider);
    setWrong(parts === null);
    setText(parts === null ? address : "");
    setMessage(parts === null ? null : t("Filled in below."));
    if (parts) onParts(parts);
    return parts !== null;
  };
  return (
    <div className="my-4">
      <Labelled
        label={t("Connection string")}
        about={message ?? t("Paste it to fill in the fields below, or fill them in yourself.")}
        fault={isWrong ? t("Use {form}.", { form: `${provider}://user:password@host/database` }) : undefined}
      >
        {(wiring) => (
          <div className="flex gap-2">
            <input
              {...wiring}
              className="field"
              autoComplete="off"
              spellCheck={false}
              value={text}
              onChange={({ target }) => setText(target.value)}
              onPaste={(event) => {
                if (text === "" && take(event.clipboardData.getData("text/plain"))) event.preventDefault();
              }}
            />
            <Button disabled={text.trim() === ""} onClick={() => take(text)}>
              {t("Fill in")}
            </Button>
          </div>
        )}
      </Labelled>
    </div>
  );
}
