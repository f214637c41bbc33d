import { useEffect, useId, useState } from "react";
import type { Reply } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import {
  chooseLanguage,
  chosenLanguage,
  followLocale,
  LANGUAGES,
  type Language,
} from "../../texts/language.ts";
import { t } from "../../texts/text.ts";
import { changesOf } from "../base/changes.ts";
import { Labelled, TextField } from "../base/labelled.tsx";
import { Section, Shown } from "../base/page.tsx";
import { exactly } from "../base/time.tsx";
import { FormFrame, messagesBy } from "../form/frame.tsx";
import { Held } from "../layout/detail.tsx";

type User = Reply<"GET /api/v1/users/me">;

/** Suggestions. Other locales can be typed. */
const LOCALES = [
  "de-AT",
  "de-CH",
  "de-DE",
  "en-GB",
  "en-US",
  "es-ES",
  "fr-CH",
  "fr-FR",
  "it-IT",
  "nl-NL",
  "pt-BR",
];

/** The user's name, and the locale and time zone of numbers and times. */
export function OwnProfile() {
  const me = useApi("GET /api/v1/users/me", {});
  return (
    <div className="space-y-4">
      <Shown of={me}>
        {(user) => <Held of={user}>{(base, onDirty) => <Profile user={base} onDirty={onDirty} />}</Held>}
      </Shown>
      <LanguageChoice />
    </div>
  );
}

/** Language of the page, stored in this browser. */
function LanguageChoice() {
  return (
    <Section title={t("Language")}>
      <Labelled
        label={t("Language of this page")}
        about={t("Applies to this browser. Messages from the server are in English.")}
      >
        {(wiring) => (
          <select
            {...wiring}
            className="field max-w-60"
            defaultValue={chosenLanguage() ?? ""}
            onChange={({ target: { value } }) => chooseLanguage(value === "" ? null : (value as Language))}
          >
            <option value="">{t("As the locale or the browser")}</option>
            {Object.entries(LANGUAGES).map(([id, name]) => (
              <option key={id} value={id} lang={id}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Labelled>
    </Section>
  );
}

function Profile({ user, onDirty }: { user: User; onDirty: (isDirty: boolean) => void }) {
  const before = {
    firstName: user.firstName ?? "",
    lastName: user.lastName ?? "",
    locale: user.locale ?? "",
    timezone: user.timezone ?? "",
  };
  const [draft, setDraft] = useState(before);
  const save = useChange("PATCH /api/v1/users/me/preferences", {
    touches: ["/users/me"],
    tellsErrors: false,
    done: t("Profile saved"),
    onDone({ locale }) {
      onDirty(false);
      followLocale(locale);
    },
  });
  const lists = useId();
  const fault = messagesBy(save.error);
  const field = (name: keyof typeof before) => ({
    value: draft[name],
    onChange: (value: string) => setDraft({ ...draft, [name]: value }),
    fault: fault(name),
  });
  const changes = changesOf(before, draft);
  const isChanged = Object.keys(changes).length > 0;
  useEffect(() => onDirty(isChanged), [isChanged, onDirty]);
  const body = Object.fromEntries(
    Object.entries(changes).map(([name, value]) => [name, value.trim() === "" ? null : value.trim()]),
  );
  return (
    <FormFrame
      title={user.email}
      call={save}
      drawn={Object.keys(before)}
      isChanged={isChanged}
      onSend={() => save.mutate({ body })}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField label={t("First name")} maxLength={255} {...field("firstName")} />
        <TextField label={t("Last name")} maxLength={255} {...field("lastName")} />
        <TextField
          label={t("Locale")}
          placeholder={t("As the browser")}
          about={t("How numbers and times are written, such as en-GB or de-CH.")}
          list={`${lists}-locales`}
          {...field("locale")}
        />
        <TextField
          label={t("Time zone")}
          placeholder={t("As the browser")}
          about={t("The zone that times are shown in, such as Europe/Zurich.")}
          list={`${lists}-zones`}
          {...field("timezone")}
        />
      </div>
      <p className="text-sm text-soft">{t("Now: {time}", { time: exactly(new Date().toISOString()) })}</p>
      <Choices id={`${lists}-locales`} of={LOCALES} />
      <Choices id={`${lists}-zones`} of={Intl.supportedValuesOf("timeZone")} />
    </FormFrame>
  );
}

const Choices = ({ id, of }: { id: string; of: readonly string[] }) => (
  <datalist id={id}>
    {of.map((value) => (
      <option key={value} value={value} />
    ))}
  </datalist>
);
