package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entryCases have lines that are not entries, or that do not continue the ids.
func entryCases() []evilCase {
	messages := func(name, want string, text func(c *tip, was string) string) evilCase {
		return changeMain(name, want, func(c *tip) {
			put(&c.phase, entry{file, "messages.jsonl", c.blob(text(c, c.messages()))})
			c.push(c.save())
		})
	}
	after := func(name, want string, text func(id int) string) evilCase {
		return messages(name, want, func(c *tip, was string) string { return was + text(c.last()+1) })
	}
	return []evilCase{
		after("a torn line", "cut off", func(id int) string { return strings.TrimSuffix(line(id, "torn"), "\n") }),
		after("half a line", "cut off", func(id int) string { return line(id, "torn")[:40] }),
		after("a line that is not JSON", "", func(int) string { return "<<<<<<< HEAD\n" }).want("messages.jsonl:"),
		after("a line that is not an object", "", func(int) string { return "[1]\n" }).want("messages.jsonl:"),
		after("an id twice", "missing or repeated", func(id int) string { return line(id, "a") + line(id, "b") }),
		after("an id missing", "is missing", func(id int) string { return line(id+1, "a") }),
		after("an earlier id", "missing or repeated", func(id int) string { return line(id-1, "a") }),
		after("a negative id", "", func(int) string { return line(-4, "a") }).want("messages.jsonl:"),
		after("an empty line", "", func(int) string { return "\n" }).want("messages.jsonl:"),
		after("an entry of another class", "does not belong in this file", func(id int) string {
			return strings.Replace(line(id, "a"), `"message"`, `"tool_call"`, 1)
		}),
		after("an anchor among the messages", "does not belong in this file", func(id int) string {
			return strings.Replace(line(id, "a"), `"message"`, `"anchor"`, 1)
		}),
		after("invalid UTF-8", "", func(id int) string { return strings.Replace(line(id, "a"), `"a"`, "\"\xff\"", 1) }).want("messages.jsonl:"),
		after("JSON deeper than anybody reads", "", func(id int) string {
			deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
			return strings.Replace(line(id, "a"), `"a"`, deep, 1)
		}).want("messages.jsonl:"),
		after("a line over the limit", "the limit is", func(id int) string { return line(id, strings.Repeat("x", 17<<20)) }),
		after("lines after a sealed file's end", "after it was sealed", func(id int) string {
			return line(id, strings.Repeat("x", 300<<10)) + line(id+1, "more")
		}),
		messages("a changed line", "changed what was recorded", func(c *tip, _ string) string { return line(c.last(), "another") }),
		changeMain("a file that was not full", "was not full", func(c *tip) {
			if c.messages() == "" {
				put(&c.phase, entry{file, "messages.jsonl", c.blob(line(c.last()+1, "a"))})
				put(&c.phase, entry{file, "messages.2.jsonl", c.blob(line(c.last()+1, "b"))})
			} else {
				put(&c.phase, entry{file, "messages.2.jsonl", c.blob(line(c.last()+1, "b"))})
			}
			c.push(c.save())
		}),
		changeMain("a gap in the files", "gap in the numbers", func(c *tip) {
			put(&c.phase, entry{file, "events.7.jsonl", c.blob(strings.Replace(line(c.last()+1, "a"), `"message"`, `"event"`, 1))})
			c.push(c.save())
		}),
	}
}

func (c evilCase) want(part string) evilCase {
	c.Want = part
	return c
}

// historyCases have commits that do not continue the history before them.
func historyCases() []evilCase {
	message := func(name, want, text string) evilCase {
		return changeMain(name, want, func(c *tip) { c.set(c.ref, c.bare.commit(c.tree(c.root...), text, c.commit)) })
	}
	rewritten := func(name string, change func(c *tip)) evilCase {
		k := changeMain(name, "history was rewritten", change)
		k.Rewrites = true
		return k
	}
	cases := []evilCase{
		rewritten("an older commit", func(c *tip) { c.set(c.ref, c.git("rev-parse", c.commit+"^")) }),
		rewritten("the newest commit replaced", func(c *tip) {
			c.set(c.ref, c.bare.commit(c.tree(c.root...), "another", c.git("rev-parse", c.commit+"^")))
		}),
		rewritten("another beginning", func(c *tip) {
			first := c.git("rev-list", "--max-parents=0", c.commit)
			c.set(c.ref, c.bare.commit(c.git("rev-parse", first+"^{tree}"), "start again"))
		}),
		rewritten("the tape as second parent", func(c *tip) {
			first := c.git("rev-list", "--max-parents=0", c.commit)
			c.set(c.ref, c.bare.commit(c.tree(c.root...), "the wrong way round", first, c.commit))
		}),
		message("another tape's trailer", "says that it belongs to", "lies\n\nTape-Name: other\nTape-Format: 1"),
		message("entries that are not there", "says that it added the entries", "lies\n\nTape-Name: main\nTape-Entries: 1-99\nTape-Format: 1"),
		message("a newer format in the commit", "has format 99", "new\n\nTape-Name: main\nTape-Format: 99"),
		changeMain("1,000 parents", "has 1000 parents", func(c *tip) {
			parents := make([]string, 1000)
			for i := range parents {
				parents[i] = c.commit
			}
			c.set(c.ref, c.bare.commit(c.tree(c.root...), "octopus", parents...))
		}),
		changeMain("a merge that is not what its parents give", "is not the result that its parents give", func(c *tip) {
			fork := c.commitOf("refs/heads/fork/main/try")
			id := c.last() + 1
			put(&c.phase, entry{file, "messages.jsonl", c.blob(c.messages() + line(id, "made up"))})
			text := fmt.Sprintf("merge: try (1 entry)\n\nTape-Name: main\nTape-Anchor: x\nTape-Fork: main/try\nTape-Entries: %d-%d\nTape-Format: 1", id, id)
			c.set(c.ref, c.bare.commit(c.save(), text, c.commit, fork))
		}),
		changeMain("a merge of another project", "", func(c *tip) {
			other := c.bare.commit(c.tree(entry{file, "readme", c.blob("x")}), "another project")
			c.set(c.ref, c.bare.commit(c.tree(c.root...), "merge", c.commit, other))
		}).want("nothing but tape.json"),
		changeMain("a commit of 5 MiB", "the limit is", func(c *tip) {
			c.set(c.ref, c.bare.commit(c.tree(c.root...), strings.Repeat("x", 5<<20), c.commit))
		}),
		changeMain("a removed file", "removed the file", func(c *tip) {
			drop(&c.phase, "messages.jsonl")
			c.push(c.save())
		}),
		changeMain("a removed phase", "removed a phase", func(c *tip) {
			drop(&c.anchors, c.anchors[0].name)
			c.push(c.saveAnchors())
		}),
		changeMain("a closed phase grows", "the phase is closed", func(c *tip) {
			first := c.anchors[0].name
			files := c.list(c.commit + ":anchors/" + first)
			put(&files, entry{file, "events.jsonl", c.blob(strings.Replace(line(c.last()+1, "a"), `"message"`, `"event"`, 1))})
			put(&c.anchors, entry{folder, first, c.tree(files...)})
			c.push(c.saveAnchors())
		}),
		changeMain("a skipped phase number", "the next phase has the number", func(c *tip) {
			put(&c.anchors, entry{folder, "077_x", c.tree(c.phase...)})
			c.push(c.saveAnchors())
		}),
		changeMain("a phase whose folder has another name", "the folder of the anchor", func(c *tip) {
			line := fmt.Sprintf(`{"id":%d,"kind":"anchor","payload":{"name":"evil"},"meta":{},"date":"2026-11-20T09:30:00+00:00"}`+"\n", c.last()+1)
			put(&c.anchors, entry{folder, fmt.Sprintf("%03d_good", len(c.anchors)+1), c.tree(entry{file, "anchor.json", c.blob(line)})})
			c.push(c.saveAnchors())
		}),
		evilCase{Name: "the branch is a tag", Ref: mainRef, Want: "", Unsent: true, Build: func(t testing.TB, dir, good string) {
			r := copyRepo(t, dir, good)
			r.set(mainRef, r.commitOf("refs/tags/anchor/main/001_session-start"))
		}}.want("is a tag"),
		{Name: "the branch is a file", Ref: mainRef, Want: "is a blob", Unsent: true, Build: func(t testing.TB, dir, good string) {
			r := copyRepo(t, dir, good)
			r.set(mainRef, r.blob("x"))
		}},
	}
	return append(cases, infoCases()...)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(path) // git's files may be read-only
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// infoCases have another tape.json, lack an object, or have tricks that only work on the server.
func infoCases() []evilCase {
	// A new history, so that tape.json is read instead of compared.
	fresh := func(name, ref, want, info string) evilCase {
		return evilCase{Name: name, Ref: ref, Want: want, Build: func(t testing.TB, dir, good string) {
			c := copyRepo(t, dir, good).tip(mainRef)
			put(&c.root, entry{file, "tape.json", c.blob(info)})
			c.set(ref, c.bare.commit(c.tree(c.root...), "start"))
		}}
	}
	const other = "refs/heads/tape/other"
	harmless := func(name string, build func(r bare)) evilCase {
		return evilCase{Name: name, Build: func(t testing.TB, dir, good string) { build(copyRepo(t, dir, good)) }}
	}
	return []evilCase{
		fresh("a newer format", other, "has format 2", `{"format":2,"name":"other","created":"2026-11-20T09:30:00+00:00"}`),
		fresh("a format that is not a number", other, "tape.json", `{"format":"x","name":"other"}`),
		fresh("no JSON in tape.json", other, "tape.json", "\x00\x01"),
		fresh("the wrong tape's name", other, "names the tape", `{"format":1,"name":"main"}`),
		fresh("a name that escapes", other, "names the tape", `{"format":1,"name":"../../x"}`),
		fresh("a tape.json of 2 MiB", other, "the limit is", `{"format":1,"name":"other","x":"`+strings.Repeat("x", 2<<20)+`"}`),
		changeMain("a changed tape.json", "the file was changed", func(c *tip) {
			put(&c.root, entry{file, "tape.json", c.blob(`{"format":1,"name":"main"}`)})
			c.push(c.tree(c.root...))
		}),
		harmless("hooks on the server", func(r bare) {
			for _, hook := range []string{"post-checkout", "reference-transaction", "pre-receive"} {
				write(r.t, filepath.Join(r.dir, "hooks", hook), "#!/bin/sh\nexit 1\n")
			}
		}),
		harmless("a cycle by replaced commits", func(r bare) {
			head := r.commitOf(mainRef)
			first := r.git("rev-list", "--max-parents=0", head)
			r.set("refs/replace/"+first, r.repoCommit(first, head))
		}),
		harmless("a cycle by grafts", func(r bare) {
			head := r.commitOf(mainRef)
			first := r.git("rev-list", "--max-parents=0", head)
			write(r.t, filepath.Join(r.dir, "info", "grafts"), first+" "+head+"\n")
		}),
		missing("a missing blob", "messages.jsonl"),
		missing("a missing tree", ""),
	}
}

// repoCommit makes a commit like another one, with another parent.
func (r bare) repoCommit(like, parent string) string {
	return r.commit(r.git("rev-parse", like+"^{tree}"), "another", parent)
}

// missing leaves out an object of the newest commit.
func missing(name, file string) evilCase {
	k := changeMain(name, "not found", func(c *tip) {
		put(&c.phase, entry{"100644", "messages.jsonl", c.blob(c.messages() + line(c.last()+1, "gone"))})
		gone := hashOf(c.phase, "messages.jsonl")
		c.push(c.save())
		if file == "" {
			gone = c.git("rev-parse", c.commitOf(c.ref)+"^{tree}")
		}
		if err := os.Remove(c.loosePath(gone)); err != nil {
			c.t.Fatal(err)
		}
	})
	return k
}

// tagCases have tags that are not those of handoffs.
func tagCases() []evilCase {
	tagged := func(name, want string, make func(r bare, ref, commit string) string) evilCase {
		const ref = "refs/tags/anchor/main/002_x"
		return evilCase{Name: "tag " + name, Want: want, Ref: ref, Build: func(t testing.TB, dir, good string) {
			r := copyRepo(t, dir, good)
			r.set(ref, make(r, "anchor/main/002_x", r.commitOf(mainRef)))
		}}
	}
	object := func(r bare, object, kind, name string) string {
		return r.object("tag", fmt.Appendf(nil, "object %s\ntype %s\ntag %s\ntagger M <m@example.org> 1795167000 +0000\n\nx\n", object, kind, name))
	}
	moved := evilCase{Name: "tag moved", Ref: "refs/tags/anchor/main/001_session-start", Want: "it was moved", Rewrites: true, Build: func(t testing.TB, dir, good string) {
		r := copyRepo(t, dir, good)
		r.set("refs/tags/anchor/main/001_session-start", object(r, r.commitOf(mainRef), "commit", "anchor/main/001_session-start"))
	}}
	return []evilCase{
		moved,
		tagged("without annotation", "not an annotated tag", func(_ bare, _, commit string) string { return commit }),
		tagged("of a blob", "not an annotated tag", func(r bare, ref, _ string) string { return object(r, r.blob("x"), "blob", ref) }),
		tagged("that is a blob", "not an annotated tag", func(r bare, _, _ string) string { return r.blob("x") }),
		tagged("of a tag", "not an annotated tag", func(r bare, ref, commit string) string {
			return object(r, object(r, commit, "commit", ref), "tag", ref)
		}),
		tagged("of another name", "calls itself", func(r bare, _, commit string) string { return object(r, commit, "commit", "v1.0") }),
		tagged("of a commit that did not add the phase", "did not come with", func(r bare, ref, commit string) string { return object(r, commit, "commit", ref) }),
		tagged("of a commit that no tape has", "does not belong to", func(r bare, ref, commit string) string {
			return object(r, r.commit(r.git("rev-parse", commit+"^{tree}"), "aside", commit), "commit", ref)
		}),
		tagged("of 18 MiB", "the limit is", func(r bare, ref, commit string) string {
			return r.object("tag", fmt.Appendf(nil, "object %s\ntype commit\ntag %s\ntagger M <m@example.org> 1795167000 +0000\n\n%s\n", commit, ref, strings.Repeat("x", 18<<20)))
		}),
	}
}

// forkCases have forks that are not forks of the tape.
func forkCases() []evilCase {
	fork := func(name, ref, want string, build func(c *tip) string) evilCase {
		return evilCase{Name: "fork " + name, Ref: ref, Want: want, Build: func(t testing.TB, dir, good string) {
			c := copyRepo(t, dir, good).tip(mainRef)
			c.set(ref, build(c))
		}}
	}
	began := func(c *tip, name string, base int) string {
		return c.bare.commit(c.tree(c.root...), fmt.Sprintf("fork: x\n\nTape-Name: %s\nTape-Anchor: x\nTape-Base: %d\nTape-Began: 2026-11-20T09:30:00.000000+00:00\nTape-Format: 1", name, base), c.commit)
	}
	const ref = "refs/heads/fork/main/evil"
	return []evilCase{
		fork("of another tape", "refs/heads/fork/other/evil", "is not a fork", func(c *tip) string { return began(c, "other/evil", c.last()) }),
		fork("under another name", ref, "have other branches", func(c *tip) string { return began(c, "other/evil", c.last()) }),
		fork("with a lying base", ref, "begins after entry", func(c *tip) string { return began(c, "main/evil", c.last()+7) }),
		fork("with a base that is not a number", ref, "", func(c *tip) string {
			return strings.TrimSpace(c.bare.commit(c.tree(entry{file, "x", c.blob("x")}), "x\n\nTape-Name: main/evil\nTape-Base: none\nTape-Format: 1", c.commit))
		}).want("nothing but tape.json"),
		fork("with another tape.json", ref, "the file was changed", func(c *tip) string {
			put(&c.root, entry{file, "tape.json", c.blob(`{"format":1,"name":"main","created":"x"}`)})
			return began(c, "main/evil", c.last())
		}),
		fork("with the tape.json of another", ref, "names the tape", func(c *tip) string {
			put(&c.root, entry{file, "tape.json", c.blob(`{"format":1,"name":"foreign"}`)})
			return began(c, "main/evil", c.last())
		}),
		fork("with a symbolic link", ref, "a symbolic link", func(c *tip) string {
			put(&c.phase, entry{"120000", "events.jsonl", c.blob("/etc/passwd")})
			c.save()
			return began(c, "main/evil", c.last())
		}),
	}
}
