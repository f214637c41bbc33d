import { type ReactNode, useEffect, useRef, useState } from "react";
import { ApiError, type Fault } from "../../api.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Coded } from "../base/coded.tsx";
import { keyNames } from "../base/key-names.ts";
import { TextField } from "../base/labelled.tsx";
import { Locked } from "../base/locked.tsx";
import { Section } from "../base/page.tsx";
import { slugFromName } from "../base/texts.ts";
import { useUnsaved } from "../base/unsaved.tsx";
import { Faults } from "./form.tsx";

export const faultsOf = (error: Error | null): readonly Fault[] =>
  error instanceof ApiError ? error.faults : [];

/** Errors from the API in a field of the body. */
export const messagesBy =
  (error: Error | null) =>
  (...path: string[]): string | undefined =>
    faultsOf(error).find(({ loc }) => path.every((part, at) => loc[at + 1] === part))?.msg;

/** An error without a field. */
export const Refusal = ({ error }: { error: Error | null }) =>
  error && faultsOf(error).length === 0 ? (
    <p role="alert" className="mb-4 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
      <Coded text={error.message} />
    </p>
  ) : null;

/** Scrolls to the first invalid field, or to the message above the fields, when `error` is set. */
export function useFirstFault(error: Error | null) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (!error) return;
    const first = form.current?.querySelector<HTMLElement>("[aria-invalid=true], [role=alert]");
    first?.focus();
    first?.scrollIntoView({ block: "nearest" });
  }, [error]);
  return form;
}

interface Props {
  title: ReactNode;
  /** Shown right of the title. */
  aside?: ReactNode;
  /** State of the form's call. */
  call: { error: Error | null; isPending: boolean; isSuccess?: boolean };
  /**
   * Locations in the body whose errors are shown elsewhere, such as `config.path`. All others are shown at the top.
   */
  drawn: readonly string[];
  /** Omitted by a form for something new. If true, the button stays visible. */
  isChanged?: boolean;
  isReady?: boolean;
  verb?: string;
  onSend: () => void;
  children: ReactNode;
  /** Sections below the first. */
  more?: ReactNode;
  /** A button for the same fields, next to the form's own. */
  beside?: ReactNode;
}

/** A form for the body of a call. Ctrl-Enter submits it too. */
export function FormFrame({ title, aside, call, drawn, isChanged, verb = t("Save"), ...rest }: Props) {
  const canSend = isChanged !== false && rest.isReady !== false;
  const button = (
    <Button type="submit" kind="main" busy={call.isPending} disabled={!canSend}>
      {verb}
    </Button>
  );
  const send = () => canSend && !call.isPending && rest.onSend();
  const form = useFirstFault(call.error);
  const [isTouched, setTouched] = useState(false);
  useUnsaved((isChanged ?? (isTouched && !call.isSuccess)) && !call.isPending);
  return (
    <form
      ref={form}
      onInput={() => setTouched(true)}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) =>
        (event.ctrlKey || event.metaKey) && event.key === "Enter" && form.current?.requestSubmit()
      }
    >
      <Locked isOn={call.isPending}>
        <Section title={title} aside={aside}>
          <Refusal error={call.error} />
          <Faults of={faultsOf(call.error)} drawn={drawn.map((path) => ["body", ...path.split(".")])} />
          {rest.children}
        </Section>
        {rest.more}
      </Locked>
      {isChanged === undefined && (
        <div className="flex gap-2">
          {button}
          {rest.beside}
        </div>
      )}
      {isChanged && (
        <div className="sticky bottom-3 z-10 flex items-center justify-end gap-3 rounded-lg border border-strong-line bg-raised px-4 py-2 text-sm text-soft shadow-lg">
          <span className="grow">{t("Unsaved changes")}</span>
          <span className="max-sm:hidden">{keyNames("Ctrl+Enter")}</span>
          {rest.beside}
          {button}
        </div>
      )}
    </form>
  );
}

interface NameProps {
  value: { name: string; slug: string };
  onChange: (value: { name: string; slug: string }) => void;
  messageFor: (field: string) => string | undefined;
  isNew?: boolean;
  /** Further fields. */
  children?: ReactNode;
}

/** Name and slug of a resource. */
export function NameFields({ value, onChange, messageFor, isNew = false, children }: NameProps) {
  return (
    <div className="mb-4 grid gap-4 sm:grid-cols-2">
      <TextField
        label={t("Name")}
        isRequired
        value={value.name}
        onChange={(name) => onChange({ ...value, name })}
        fault={messageFor("name")}
        maxLength={255}
        autoFocus={isNew}
      />
      <TextField
        label={t("Slug")}
        isRequired={!isNew}
        value={value.slug}
        onChange={(slug) => onChange({ ...value, slug })}
        fault={messageFor("slug")}
        {...(isNew ? { placeholder: slugFromName() } : {})}
        maxLength={100}
      />
      {children}
    </div>
  );
}
