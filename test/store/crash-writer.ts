/** Writes pairs of rows until it is killed, and prints the first of each once it is saved. */
import { insertInto } from "../../src/store/prepared.ts";
import { openStore } from "../../src/store/store.ts";
import { MIGRATIONS, notes } from "./harness.ts";

const [path = "", backupsFolder = "", round = ""] = process.argv.slice(2);
const store = await openStore({ path, backupsFolder, migrations: MIGRATIONS });
const insertNote = insertInto(notes);
let count = 0;

async function write(): Promise<void> {
  for (;;) {
    const id = `${round}-${count++}`;
    await store.write(async (db) => {
      await db.insert(notes).values({ id: `${id}-1`, someTitle: `${id}${"x".repeat(2_000)}` });
      await null;
      await insertNote(db, { id: `${id}-2`, someTitle: null, count: null, ratio: null, body: null }); // Not awaited.
    });
    process.stdout.write(`${id}-1\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, write));
