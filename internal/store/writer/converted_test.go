package writer_test

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// Git for Windows converts line ends of a clone by default; tapes of older versions have no attributes that forbid
// it. Readers and writers put the committed ones back, and lose nothing that was added since.
func TestLineEndsThatGitChanged(t *testing.T) {
	for name, use := range map[string]func(tp *repo.Tape, s *repo.Store){
		"read":   func(tp *repo.Tape, _ *repo.Store) { storetest.Entries(t, tp, repo.Query{}) },
		"append": func(tp *repo.Tape, _ *repo.Store) { storetest.Append(t, tp, repo.Message("user", "more")) },
		"verify": func(_ *repo.Tape, s *repo.Store) {
			if report, err := s.Verify(t.Context()); err != nil || len(report.Problems) > 0 {
				t.Error("verify: ", report, err)
			}
		},
		"repair": func(_ *repo.Tape, s *repo.Store) {
			if mended, err := s.Repair(t.Context()); err != nil || len(mended) > 0 {
				t.Error("repair: ", mended, err)
			}
		},
	} {
		s := storetest.New(t, nil)
		tp := storetest.Tape(t, s, "main")
		storetest.Append(t, tp, repo.Message("user", "one"))
		storetest.AppendArtifact(t, tp, "two\nlines\n")
		storetest.Handoff(t, tp, "second")
		storetest.Append(t, tp, repo.Message("user", "two"))
		storetest.Checkpoint(t, tp)
		committed := storetest.Entries(t, tp, repo.Query{})
		storetest.Append(t, tp, repo.Message("user", "not committed"))
		want := storetest.Entries(t, tp, repo.Query{})
		clean := storetest.Git(t, s.Dir(), "status", "--porcelain")
		storetest.Must(t, filepath.WalkDir(s.Dir(), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Name() == ".git" && d.IsDir() {
				return filepath.SkipDir
			}
			if !d.IsDir() && d.Name() != "index.db" {
				data := bytes.ReplaceAll(storetest.ReadFile(t, path), []byte("\n"), []byte("\r\n"))
				if head, tail, ok := bytes.Cut(data, want[len(committed)].Raw); ok { // git does not write what it does not have
					data = bytes.Join([][]byte{head, want[len(committed)].Raw, bytes.ReplaceAll(tail, []byte("\r"), nil)}, nil)
				}
				storetest.WriteFile(t, path, data)
			}
			return nil
		}))
		s = storetest.Reopen(t, s.Dir())
		tp = storetest.Tape(t, s, "main")
		use(tp, s)
		got := storetest.Lines(storetest.Entries(t, tp, repo.Query{}))
		if has := strings.Join(got, "\n"); !strings.HasPrefix(has, strings.Join(storetest.Lines(want), "\n")) {
			t.Errorf("%s: the entries are now\n%s", name, has)
		}
		if now := storetest.Git(t, s.Dir(), "status", "--porcelain"); now != clean {
			t.Errorf("%s: git status says %q, before it was %q", name, now, clean)
		}
		storetest.Healthy(t, s.Dir())
	}
}
