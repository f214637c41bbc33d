/** A value that other systems write into the name of a folder, such as `year=2026`. */
export interface FolderValue {
  column: string;
  folder: string;
}

/** The values in the names of the folders that a file is in. */
export const folderValues = (path: string): FolderValue[] =>
  path
    .split("/")
    .slice(0, -1)
    .flatMap((folder) => {
      const [, column] = /^([A-Za-z_][\w.-]*)=/.exec(folder) ?? [];
      return column === undefined ? [] : [{ column, folder }];
    });

/** Adds those of a file whose columns aren't in `values` yet. */
export function addFolderValues(values: FolderValue[], path: string): void {
  for (const value of folderValues(path))
    if (!values.some(({ column }) => column === value.column)) values.push(value);
}

/** Warns that the values of a column that is only in the names of folders aren't loaded. */
export const lostValuesSentence = ({ column, folder }: FolderValue): string =>
  `The values in folder names such as ${JSON.stringify(folder)} aren't loaded, and the files have no column ${column}. To keep them, add the column to the files.`;
