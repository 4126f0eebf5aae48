// Writes what isomorphic-git reads in a workspace: judge.mjs WORKSPACE DIR (see listing.sh).
import { createHash } from "node:crypto";
import fs from "node:fs";
import { dirname, join } from "node:path";
import git from "isomorphic-git";

const [dir, out] = process.argv.slice(2);
const repo = { fs, dir, cache: {} };
const lines = [];
const blobs = new Map();

const sha = (data) => createHash("sha256").update(data).digest("hex");

function who({ name, email, timestamp, timezoneOffset: zone }) {
  const two = (n) => String(Math.floor(n)).padStart(2, "0");
  return `${name} <${email}> ${timestamp} ${zone > 0 ? "-" : "+"}${two(Math.abs(zone) / 60)}${two(Math.abs(zone) % 60)}`;
}

async function blob(oid) {
  if (!blobs.has(oid)) blobs.set(oid, Buffer.from((await git.readBlob({ ...repo, oid })).blob));
  return blobs.get(oid);
}

async function files(oid, prefix = "") {
  const found = [];
  for (const e of (await git.readTree({ ...repo, oid })).tree) {
    if (e.type === "tree") found.push(...(await files(e.oid, `${prefix}${e.path}/`)));
    else found.push({ path: prefix + e.path, mode: e.mode, oid: e.oid });
  }
  return found;
}

// The entries of a tape: its phases by number, and in each the lines of all files by id.
// Bytes are kept as characters of Latin-1.
async function entries(tree) {
  const phases = new Map();
  for (const { path, oid } of await files(tree)) {
    const [root, folder] = path.split("/");
    if (root !== "anchors") continue;
    const stored = (await blob(oid)).toString("latin1").split("\n");
    if (stored.pop() !== "") throw new Error(`${path} does not end with a newline`);
    const number = parseInt(folder, 10);
    phases.set(number, (phases.get(number) ?? []).concat(stored.map((line) => ({ id: JSON.parse(line).id, line }))));
  }
  const numbers = [...phases.keys()].sort((a, b) => a - b);
  return numbers.flatMap((n) => phases.get(n).sort((a, b) => a.id - b.id).map(({ line }) => `${n} ${line}\n`)).join("");
}

lines.push(`HEAD ${await git.resolveRef({ ...repo, ref: "HEAD", depth: 2 })}`);
const commits = new Map();
for (const name of await git.listRefs({ ...repo, filepath: "refs" })) {
  const ref = `refs/${name}`;
  if (ref.endsWith("^{}")) continue; // what packed-refs says that a tag is on
  let oid = await git.resolveRef({ ...repo, ref });
  let { type } = await git.readObject({ ...repo, oid });
  lines.push(`ref ${ref} ${oid} ${type}`);
  while (type === "tag") {
    const { tag } = await git.readTag({ ...repo, oid });
    lines.push(`tag ${oid} ${tag.object} ${tag.type} ${tag.tag} ${sha(tag.message)}`, `tagger ${oid} ${who(tag.tagger)}`);
    ({ object: oid, type } = tag);
  }
  // log shows a commit again that it comes to by another way.
  const reached = new Map((await git.log({ ...repo, ref: oid })).map((c) => [c.oid, c.commit]));
  for (const [id, commit] of reached) {
    commits.set(id, commit);
    lines.push(`reach ${ref} ${id}`);
  }
  if (ref.startsWith("refs/tags/")) continue;
  const path = join(out, "entries", ref);
  fs.mkdirSync(dirname(path), { recursive: true });
  fs.writeFileSync(path, await entries(reached.get(oid).tree), "latin1");
}
for (const [oid, c] of commits) {
  lines.push(["commit", oid, c.tree, ...c.parent].join(" "), `message ${oid} ${sha(c.message)}`);
  lines.push(`author ${oid} ${who(c.author)}`, `committer ${oid} ${who(c.committer)}`);
  for (const f of await files(c.tree)) {
    lines.push(`file ${oid} ${f.mode.padStart(6, "0")} ${f.oid} ${f.path}`);
    await blob(f.oid);
  }
}
for (const [oid, data] of blobs) lines.push(`blob ${oid} ${data.length} ${sha(data)}`);
fs.writeFileSync(join(out, "listing"), lines.map((l) => l + "\n").join(""));
