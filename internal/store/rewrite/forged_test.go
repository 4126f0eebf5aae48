package rewrite_test

import (
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/purge"
	"tape/internal/store/rewrite"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// changedTree stores a tree with changed lines of ls-tree -r, and returns it.
func changedTree(t *testing.T, s *repo.Store, tree gitstore.Hash, change func(lines []string) []string) gitstore.Hash {
	t.Helper()
	index := t.TempDir() + "/index"
	t.Setenv("GIT_INDEX_FILE", index)
	lines := change(strings.Split(storetest.Git(t, s.Dir(), "ls-tree", "-r", tree.String()), "\n"))
	for _, line := range lines {
		info, path, _ := strings.Cut(line, "\t")
		f := strings.Fields(info)
		storetest.Git(t, s.Dir(), "update-index", "--add", "--cacheinfo", f[0]+","+f[2]+","+path)
	}
	h, err := gitstore.ParseHash(storetest.Git(t, s.Dir(), "write-tree"))
	storetest.Must(t, err)
	return h
}

// A purge changes texts and nothing else: not the authors and dates of commits, their messages, trailers or
// parents, nor modes, names, or the number of files and lines.
func TestCheckPurgedOtherChanges(t *testing.T) {
	m, _, next := storetest.PurgedCopy(t, repo.PurgeOptions{Rules: []string{purge.AllRules}})
	s := m.Store()
	head := storetest.Head(t, m)
	trees := func(change func(lines []string) []string) func(n int, c *gitstore.Commit) {
		return func(n int, c *gitstore.Commit) {
			if n == 1 { // the handoff; that later commits have other trees does not matter
				c.Tree = changedTree(t, s, c.Tree, change)
			}
		}
	}
	at := func(n int, change func(c *gitstore.Commit)) func(int, *gitstore.Commit) {
		return func(i int, c *gitstore.Commit) {
			if i == n {
				change(c)
			}
		}
	}
	empty := gitstore.HashObject(gitstore.KindBlob, nil)
	storetest.Git(t, s.Dir(), "hash-object", "-w", "/dev/null")
	forgeries := map[string]func(n int, c *gitstore.Commit){
		"author":         at(1, func(c *gitstore.Commit) { c.Author.Name = "Somebody Else" }),
		"committer date": at(1, func(c *gitstore.Commit) { c.Committer.When = c.Committer.When.Add(1e9) }),
		"subject": at(0, func(c *gitstore.Commit) {
			_, rest, _ := strings.Cut(c.Message, "\n")
			c.Message = "another\n" + rest
		}),
		"another trailer": at(0, func(c *gitstore.Commit) { c.Message = strings.TrimRight(c.Message, "\n") + "\nTape-Else: x\n" }),
		"no trailer": at(0, func(c *gitstore.Commit) {
			lines := strings.Split(strings.TrimRight(c.Message, "\n"), "\n")
			c.Message = strings.Join(lines[:len(lines)-1], "\n") + "\n"
		}),
		"trailer's key": at(0, func(c *gitstore.Commit) { c.Message = strings.Replace(c.Message, "Tape-Name:", "Tape-Nome:", 1) }),
		"trailer's value": at(0, func(c *gitstore.Commit) {
			c.Message = strings.Replace(c.Message, "Tape-Name: main", "Tape-Name: nain", 1)
		}),
		"merge's parent": func(_ int, c *gitstore.Commit) {
			if len(c.Parents) > 1 {
				c.Parents = c.Parents[:1]
			}
		},
		"mode": trees(func(lines []string) []string {
			lines[0] = strings.Replace(lines[0], "100644", "100755", 1)
			return lines
		}),
		"a file more": trees(func(lines []string) []string { return append(lines, "100644 blob "+empty.String()+"\tzzz") }),
		"a file less": trees(func(lines []string) []string {
			for i, l := range lines {
				if strings.HasSuffix(l, "messages.jsonl") {
					return append(lines[:i:i], lines[i+1:]...)
				}
			}
			return nil
		}),
		"tape.json": trees(func(lines []string) []string {
			for i, l := range lines {
				if strings.HasSuffix(l, "\ttape.json") {
					lines[i] = "100644 blob " + empty.String() + "\ttape.json"
				}
			}
			return lines
		}),
		"number of a phase": trees(func(lines []string) []string {
			for i, l := range lines {
				lines[i] = strings.Replace(l, "anchors/002_", "anchors/003_", 1)
			}
			return lines
		}),
		"lines": trees(func(lines []string) []string {
			for i, l := range lines {
				if strings.HasSuffix(l, "messages.jsonl") {
					lines[i] = "100644 blob " + empty.String() + "\t" + strings.SplitN(l, "\t", 2)[1]
				}
			}
			return lines
		}),
		"a line more": trees(func(lines []string) []string {
			for i, l := range lines {
				if info, path, _ := strings.Cut(l, "\t"); strings.HasSuffix(path, "messages.jsonl") {
					raw, err := storetest.Inner(s).Git().Blob(storetest.Hash(t, strings.Fields(info)[2]))
					storetest.Must(t, err)
					file := t.TempDir() + "/f"
					storetest.WriteFile(t, file, append(raw, `{"id":9,"kind":"message","payload":{},"meta":{},"date":"2026-01-01T00:00:00+00:00"}`+"\n"...))
					lines[i] = "100644 blob " + storetest.Git(t, s.Dir(), "hash-object", "-w", file) + "\t" + path
				}
			}
			return lines
		}),
		"nothing": func(int, *gitstore.Commit) {},
	}
	for name, change := range forgeries {
		forged := storetest.ForgedHistory(t, s, next, change)
		if want := name == "nothing"; (forged == next) != want {
			t.Fatalf("%s: the history was changed: %v, want %v", name, forged != next, !want)
		}
		if ok, err := rewrite.CheckPurged(t.Context(), storetest.InnerTape(m).Store(), storetest.LeakFinder{}, head, forged); ok != (name == "nothing") {
			t.Errorf("%s: CheckPurged returned %v, %v; want %v", name, ok, err, name == "nothing")
		}
	}
}
