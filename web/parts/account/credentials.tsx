import { KeyRound, Plus, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { rich } from "../../texts/rich.ts";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { useNew } from "../base/new.ts";
import { Empty } from "../base/page.tsx";
import { ShownOnce } from "../base/shown-once.tsx";
import { When } from "../base/time.tsx";
import { notify } from "../base/toast.tsx";
import { Older, type useOlder } from "../table/older.tsx";
import { type Column, Named, Table } from "../table/table.tsx";

interface Credential {
  id: string;
  name: string;
  lastFour: string;
  createdAt: string;
  lastUsedAt: string | null;
}

interface Props<T extends Credential, M extends { name: string }> {
  texts: {
    /** Label of the button, and title of the form. */
    create: string;
    /** Accessible name of the table. */
    label: string;
    none: string;
    /** Title and button of the dialog that shows the secret. */
    save: string;
    copy: string;
  };
  about: ReactNode;
  list: Pick<
    ReturnType<typeof useOlder>,
    "error" | "refetch" | "hasNextPage" | "isFetchingNextPage" | "fetchNextPage"
  > & {
    items: T[] | null;
  };
  /** In addition to name, use and age. */
  columns: readonly Column<T>[];
  empty: string;
  /** Renders the form for a new one. */
  make: (onClose: () => void, onMade: (made: M) => void) => ReactNode;
  /** The secret to show once, and the header that it is sent in. */
  secretOf: (made: M) => string;
  header: string;
  /** What stops working without it. */
  loss: string;
  revoke: (id: string, then: { onSuccess: () => void; onSettled: () => void }) => void;
  isRevoking: boolean;
}

/** Credentials of programs, which are created, shown once and revoked. */
export function Credentials<T extends Credential, M extends { name: string }>(props: Props<T, M>) {
  const { texts, list } = props;
  const [isMaking, setMaking] = useNew();
  const [made, setMade] = useState<M | null>(null);
  const [gone, setGone] = useState<T | null>(null);
  const add = (
    <Button kind="main" icon={Plus} onClick={() => setMaking(true)}>
      {texts.create}
    </Button>
  );
  const columns: readonly Column<T>[] = [
    {
      name: t("Name"),
      isWide: true,
      cell: ({ name, lastFour }) => <Named name={name} below={t("Ends in {lastFour}", { lastFour })} />,
    },
    ...props.columns,
    {
      name: t("Last used"),
      isRight: true,
      isMinor: true,
      cell: ({ lastUsedAt }) => <When at={lastUsedAt} />,
    },
    { name: t("Created"), isRight: true, isMinor: true, cell: ({ createdAt }) => <When at={createdAt} /> },
    {
      name: t("Actions"),
      isRight: true,
      isUntitled: true,
      cell: (each) => (
        <IconButton
          icon={Trash2}
          label={t("Revoke {name}", { name: each.name })}
          onClick={() => setGone(each)}
        />
      ),
    },
  ];
  return (
    <>
      <div className="mb-4 flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-sm text-soft">{props.about}</p>
        {(list.items?.length ?? 0) > 0 && add}
      </div>
      <div className="card">
        <Older of={list}>
          {(items) =>
            items.length > 0 ? (
              <Table label={texts.label} columns={columns} rows={items} keyOf={({ id }) => id} />
            ) : (
              <Empty icon={KeyRound} title={texts.none} action={add}>
                {props.empty}
              </Empty>
            )
          }
        </Older>
      </div>
      {isMaking &&
        props.make(
          () => setMaking(false),
          (each) => {
            setMaking(false);
            setMade(each);
          },
        )}
      {made && (
        <ShownOnce
          title={texts.save}
          copyLabel={texts.copy}
          text={props.secretOf(made)}
          onClose={() => setMade(null)}
        >
          {rich("Send it in the header {header}.", {
            header: <code className="font-mono text-xs">{props.header}</code>,
          })}
        </ShownOnce>
      )}
      {gone && (
        <Confirm
          title={t("Revoke {name}?", { name: gone.name })}
          verb={t("Revoke")}
          isBusy={props.isRevoking}
          onClose={() => setGone(null)}
          onConfirm={() =>
            props.revoke(gone.id, {
              onSuccess: () => notify(t("{name} revoked", { name: gone.name })),
              onSettled: () => setGone(null),
            })
          }
        >
          <p>{props.loss}</p>
        </Confirm>
      )}
    </>
  );
}
