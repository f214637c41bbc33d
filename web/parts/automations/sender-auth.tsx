import { KeyRound } from "lucide-react";
import { useState } from "react";
import type { Fault } from "../../api.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Labelled, TextField } from "../base/labelled.tsx";
import { Section } from "../base/page.tsx";
import { ShownOnce } from "../base/shown-once.tsx";
import { asObject } from "../form/field-frame.tsx";
import { SchemaForm, type Values } from "../form/form.tsx";
import { propertiesOf } from "../form/schema.ts";
import { makeSecret } from "./new-secret.tsx";
import { choiceOf, SENDER_FIELDS, SERVICES, TYPES, wayOf, withChoice } from "./sender-choices.ts";

interface Props {
  config: Values;
  onChange: (config: Values) => void;
  faults: readonly Fault[];
  /** The stored config, including its secret. Null for a new automation. */
  stored: Values | null;
}

const AT = ["body", "config"];

/** Authentication of a webhook's sender: a choice and its fields. */
export function SenderAuth({ config, onChange, faults, stored }: Props) {
  const [before] = useState(config);
  const chosen = choiceOf(config);
  const way = wayOf(chosen);
  const proof = way?.proof ?? null;
  const at = way?.isAuth ? [...AT, "auth"] : AT;
  const value = way?.isAuth ? asObject(config.auth) : config;
  const put = (next: Values) => onChange(way?.isAuth ? { ...config, auth: next } : next);

  const fields = way ? propertiesOf(way.fields).map(([name]) => name) : [];
  const isBelow = ({ loc }: Fault, names: readonly string[]) =>
    at.every((part, index) => loc[index] === part) && names.includes(loc[at.length] ?? "");
  const ofProof = faults.filter((fault) => proof !== null && isBelow(fault, [proof.field]));
  const ofFields = faults.filter((fault) => isBelow(fault, fields));
  const ofChoice = faults.filter(
    (fault) => isOfSender(fault, config) && !ofProof.includes(fault) && !ofFields.includes(fault),
  );
  return (
    <Section title={t("Sender")}>
      <div className="space-y-4">
        <Labelled label={t("Sender authentication")} fault={messageOf(ofChoice)}>
          {(wiring) => (
            <select
              {...wiring}
              className="field sm:max-w-80"
              value={chosen}
              onChange={({ target }) => onChange(withChoice(config, target.value, before))}
            >
              {!way && <option>{chosen}</option>}
              <optgroup label={t("Any sender")}>{optionsOf(TYPES)}</optgroup>
              <optgroup label={t("Services")}>{optionsOf(SERVICES)}</optgroup>
            </select>
          )}
        </Labelled>
        {way && fields.length > 0 && (
          <SchemaForm
            key={chosen}
            schema={way.fields}
            value={value}
            onChange={put}
            at={at}
            faults={ofFields}
          />
        )}
        {proof && (
          <ProofField
            key={`${chosen} secret`}
            label={proof.title}
            about={
              stored && wayOf(choiceOf(stored))?.proof?.field === proof.field
                ? `${proof.about} ${t("Leave empty to keep the saved one.")}`
                : proof.about
            }
            value={typeof value[proof.field] === "string" ? String(value[proof.field]) : ""}
            onChange={(text) => {
              const { [proof.field]: _, ...rest } = value;
              put(text === "" ? rest : { ...rest, [proof.field]: text });
            }}
            fault={messageOf(ofProof)}
            make={proof.isTheirs ? null : () => makeSecret(chosen)}
          />
        )}
      </div>
    </Section>
  );
}

/** Returns whether an error is shown in this section. */
export const isOfSender = ({ loc }: Fault, config: Values): boolean =>
  loc[1] === "config" &&
  (SENDER_FIELDS.includes(loc[2] ?? "") || wayOf(choiceOf(config))?.proof?.field === loc[2]);

const messageOf = (faults: readonly Fault[]) =>
  faults.length === 0 ? undefined : faults.map(({ msg }) => msg).join("; ");

const optionsOf = (ways: Readonly<Record<string, { name: string }>>) =>
  Object.entries(ways).map(([id, { name }]) => (
    <option key={id} value={id}>
      {name}
    </option>
  ));

/** A secret that is entered, or generated here and shown once. */
function ProofField({
  make,
  ...field
}: {
  label: string;
  about: string;
  value: string;
  onChange: (text: string) => void;
  fault: string | undefined;
  /** Null if the sender generates it. */
  make: (() => string) | null;
}) {
  const [made, setMade] = useState<string | null>(null);
  return (
    <div className="sm:max-w-120">
      <TextField {...field} type="password" />
      {make && (
        <Button
          kind="quiet"
          icon={KeyRound}
          className="mt-1"
          onClick={() => {
            const text = make();
            field.onChange(text);
            setMade(text);
          }}
        >
          {t("Generate")}
        </Button>
      )}
      {made !== null && (
        <ShownOnce
          title={t("Save your signing secret")}
          copyLabel={t("Copy signing secret")}
          text={made}
          onClose={() => setMade(null)}
        >
          {t("Enter it at the sender. It takes effect when you save.")}
        </ShownOnce>
      )}
    </div>
  );
}
