package audit_test

import (
	"fmt"
	"strings"
	"testing"
)

// refCases have names of refs that lead out of their folder, or collide. Git's own server
// would not offer most of them.
func refCases() []evilCase {
	named := func(name, ref string) evilCase {
		return evilCase{Name: "ref " + name, Ref: ref, Want: "has a name that is not used here", Unsent: true, Build: func(t testing.TB, dir, good string) {
			r := copyRepo(t, dir, good)
			r.packRef(ref, r.commitOf(mainRef))
		}}
	}
	cases := []evilCase{
		named("escapes", "refs/heads/tape/../../../hooks/post-checkout"),
		named("escapes in a tag", "refs/tags/anchor/main/../../../config"),
		named("absolute", "refs/heads/tape//etc/passwd"),
		named("empty part", "refs/heads/tape/"),
		named("a lock of git's", "refs/heads/tape/main.lock"),
		named("below a tape", "refs/heads/tape/main/below"),
		named("upper case", "refs/heads/tape/Main"),
		named("decomposed", "refs/heads/tape/cafe\u0301"),
		named("composed", "refs/heads/tape/caf\u00e9"),
		named("full width", "refs/heads/tape/\uff4dain"),
		named("invisible character", "refs/heads/tape/ma\u200bin"),
		named("device", "refs/heads/tape/nul"),
		named("device with a suffix", "refs/heads/tape/com1.txt"),
		named("dot git", "refs/heads/tape/.git"),
		named("short dot git", "refs/heads/tape/git~1"),
		named("stream", "refs/heads/tape/main:$DATA"),
		named("backslash", `refs/heads/tape/..\..\x`),
		named("dot at the end", "refs/heads/tape/main."),
		named("leading dash", "refs/heads/tape/-rf"),
		named("control character", "refs/heads/tape/ma\x1b[2Jin"),
		named("endless", "refs/heads/tape/"+strings.Repeat("a", 4000)),
		named("fork too deep", "refs/heads/fork/main/a/b"),
		named("fork without a name", "refs/heads/fork/main"),
		named("folder that is not of a phase", "refs/tags/anchor/main/phase"),
		named("stamp that is not a date", "refs/tape/archive/main/yesterday"),
		named("another kind", "refs/tape/remotes/other/heads/tape/main"),
		named("HEAD", "refs/heads/HEAD"),
	}
	// Two names that differ only in case, and look as if they ended in the right hash.
	twins := named("twins by case", "refs/heads/tape/Twin-0123abcd")
	build := twins.Build
	twins.Build = func(t testing.TB, dir, good string) {
		build(t, dir, good)
		r := bare{t, dir}
		r.packRef("refs/heads/tape/tWin-0123abcd", r.commitOf(mainRef))
	}
	return append(cases, twins)
}

// packRef writes a ref into packed-refs, for its name may be one that no file can have.
func (r bare) packRef(name, hash string) {
	r.t.Helper()
	write(r.t, r.dir+"/packed-refs", readText(r.t, r.dir+"/packed-refs")+hash+" "+name+"\n")
}

// treeCases have something in their trees that no tape has.
func treeCases() []evilCase {
	var cases []evilCase
	add := func(where, mode, name, want string) {
		cases = append(cases, changeMain(fmt.Sprintf("%q %s in the %s", name, mode, where), want, func(c *tip) {
			hash := c.blob("#!/bin/sh\nexit 1\n")
			switch mode {
			case folder:
				hash = c.tree(entry{file, "pre-commit", hash})
			case "160000":
				hash = c.commit
			}
			switch where {
			case "root":
				put(&c.root, entry{mode, name, hash})
				c.push(c.tree(c.root...))
				return
			case "anchors":
				put(&c.anchors, entry{mode, name, hash})
			case "phase":
				put(&c.phase, entry{mode, name, hash})
			}
			c.push(c.save())
		}))
	}
	for _, where := range []string{"root", "anchors", "phase"} {
		add(where, "120000", "link", "a symbolic link")
		add(where, "160000", "module", "a submodule")
		add(where, file, "..", "leads out of its folder")
	}
	for _, name := range []string{".git", ".GIT", "git~1", "GIT~2", ".git.", ".git ", ".g\u200cit", ".gi\u200dt", "\ufeff.git", ".git::$INDEX_ALLOCATION"} {
		add("root", folder, name, "take it for .git")
	}
	for _, name := range []string{".gitattributes", ".gitmodules", ".gitignore", "hooks", "config", "config.json"} {
		mode := file
		if name == "hooks" {
			mode = folder
		}
		add("root", mode, name, "not accepted from a remote")
	}
	add("phase", file, ".gitattributes", "not accepted from a remote")
	add("root", file, `..\..\x`, "leads out of its folder")
	add("root", file, "a/b", "leads out of its folder")
	add("root", file, "a\x1b[2Jb", "control characters")
	add("root", file, "Tape.json", "take it for tape.json")
	add("root", folder, "\uff41nchors", "take it for tape.json")
	add("root", "100755", "run", "its mode is 100755")
	add("root", "100664", "note", "its mode is 100664")
	add("root", file, "index.db", "nothing but tape.json")
	add("root", "120000", "tape.json", "a symbolic link")
	add("root", "120000", "anchors", "a symbolic link")
	add("phase", "120000", "messages.jsonl", "a symbolic link")
	add("phase", "100755", "messages.jsonl", "its mode is 100755")
	add("phase", file, "Messages.jsonl", "nothing but tape.json")
	add("phase", file, "messages.02.jsonl", "nothing but tape.json")
	add("phase", folder, "deeper", "not the folder of a phase")
	add("anchors", folder, "../../x", "leads out of its folder")
	add("anchors", folder, "notes", "not the folder of a phase")
	add("anchors", folder, "1_x", "not the folder of a phase")
	return append(cases, shapeCases()...)
}

func shapeCases() []evilCase {
	return []evilCase{
		changeMain("a name twice in a tree", "is repeated or out of order", func(c *tip) {
			c.push(c.unsorted(append([]entry{c.root[0]}, c.root...)...))
		}),
		changeMain("a tree out of order", "is repeated or out of order", func(c *tip) {
			c.push(c.unsorted(c.root[1], c.root[0]))
		}),
		changeMain("a damaged tree", "damaged tree", func(c *tip) {
			c.push(c.object("tree", []byte("100644 tape.json")))
		}),
		changeMain("a deep tree", "not the folder of a phase", func(c *tip) {
			tree := c.tree(entry{file, "end", c.blob("x")})
			for range 100 {
				tree = c.tree(entry{folder, "d", tree})
			}
			put(&c.phase, entry{folder, "d", tree})
			c.push(c.save())
		}),
		changeMain("a folder where a file should be", "not the folder of a phase", func(c *tip) {
			put(&c.phase, entry{folder, "messages.jsonl", c.tree()})
			c.push(c.save())
		}),
		changeMain("a file where the folder should be", "nothing but tape.json", func(c *tip) {
			put(&c.root, entry{file, "anchors", c.blob("x")})
			c.push(c.tree(c.root...))
		}),
		changeMain("more phases than anybody has", "the limit is", func(c *tip) {
			var raw []byte
			hash := make([]byte, 20)
			for n := range 500_000 {
				raw = append(fmt.Appendf(raw, "40000 %06d_x\x00", n+100_000), hash...)
			}
			put(&c.root, entry{folder, "anchors", c.object("tree", raw)})
			c.push(c.tree(c.root...))
		}),
		changeMain("an empty tree", "there is no tape.json", func(c *tip) { c.push(c.tree()) }),
		changeMain("no anchors", "there is no folder anchors", func(c *tip) {
			drop(&c.root, "anchors")
			c.push(c.tree(c.root...))
		}),
		changeMain("no tape.json", "there is no tape.json", func(c *tip) {
			drop(&c.root, "tape.json")
			c.push(c.tree(c.root...))
		}),
	}
}
