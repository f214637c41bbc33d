import { useApi } from "../../data.ts";

interface Props {
  /** ID of the chosen connection. Empty for none. */
  value: string;
  known: readonly { id: string }[];
}

/** Option for the chosen connection if the list lacks it, as that of another provider. */
export function ChosenConnection({ value, known }: Props) {
  const isUnknown = value !== "" && !known.some(({ id }) => id === value);
  const path = { path: { connection_id: value } };
  const { data } = useApi("GET /api/v1/connections/{connection_id}", path, { enabled: isUnknown });
  return isUnknown ? <option value={value}>{data ? `${data.name} (${data.provider})` : value}</option> : null;
}
