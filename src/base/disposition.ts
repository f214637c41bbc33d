/** `Content-Disposition` that makes a browser save the response under this name (RFC 6266). */
export function attachment(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  return `attachment; filename="${plain}"; filename*=UTF-8''${percent(name)}`;
}

const percent = (text: string) =>
  encodeURIComponent(text.toWellFormed()).replace(
    /['()*!~]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
