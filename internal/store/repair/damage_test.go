package repair_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/store/audit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// damaged is a tape of two phases, the second of them open, for tests that break it:
//
//	001_session-start  messages 2 3 6, tool_calls 4, events 5    committed
//	002_work           messages 8 9 11, events 10                committed
//	                   messages 12 13, events 14                 not committed
type damaged struct {
	*repo.Store
	*repo.Tape
}

const (
	closedPhase = "anchors/001_session-start/"
	openPhase   = "anchors/002_work/"
)

func newDamaged(t *testing.T) damaged {
	t.Helper()
	s := newWhole(t)
	return damaged{s, storetest.Tape(t, s, "")}
}

// newWhole makes the workspace to be damaged.
func newWhole(t *testing.T) *repo.Store {
	t.Helper()
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	storetest.Must(t, err)
	tp := storetest.Tape(t, s, "")
	call := repo.Draft{Kind: repo.KindToolCall, Payload: []byte(`{"calls":[]}`)}
	storetest.Append(t, tp, repo.Message("user", "two"), repo.Message("user", "three"), call, repo.Event("five", nil), repo.Message("user", "six"))
	storetest.Handoff(t, tp, "work")
	storetest.Append(t, tp, repo.Message("user", "eight"), repo.Message("user", "nine"), repo.Event("ten", nil), repo.Message("user", "eleven"))
	storetest.Checkpoint(t, tp)
	storetest.Append(t, tp, repo.Message("user", "twelve"))
	storetest.Append(t, tp, repo.Message("user", "thirteen"))
	storetest.Append(t, tp, repo.Event("fourteen", nil))
	storetest.Healthy(t, s.Dir())
	return s
}

func (d damaged) file(name string) string { return filepath.Join(d.Dir(), filepath.FromSlash(name)) }

// edit changes a file in place, as an editor would.
func (d damaged) edit(t *testing.T, name string, f func(all [][]byte) [][]byte) {
	t.Helper()
	path := d.file(name)
	storetest.WriteFile(t, path, bytes.Join(f(bytes.SplitAfter(storetest.ReadFile(t, path), []byte("\n"))), nil))
}

func (d damaged) replace(t *testing.T, name string, line int, old, with string) {
	t.Helper()
	d.edit(t, name, func(all [][]byte) [][]byte {
		if !bytes.Contains(all[line-1], []byte(old)) {
			t.Fatalf("%s:%d has no %q", name, line, old)
		}
		all[line-1] = bytes.Replace(all[line-1], []byte(old), []byte(with), 1)
		return all
	})
}

func (d damaged) cut(t *testing.T, name string, bytesOff int) {
	t.Helper()
	st, err := os.Stat(d.file(name))
	if err == nil {
		err = os.Truncate(d.file(name), st.Size()-int64(bytesOff))
	}
	storetest.Must(t, err)
}

func (d damaged) add(t *testing.T, name, text string) {
	t.Helper()
	storetest.WriteFile(t, d.file(name), append(storetest.ReadFile(t, d.file(name)), text...))
}

func line(id int, content string) string {
	return fmt.Sprintf(`{"id":%d,"kind":"message","payload":{"role":"user","content":"%s"},"meta":{},"date":"2026-11-20T09:30:00.123456+00:00"}`+"\n", id, content)
}

func TestDamage(t *testing.T) {
	const messages, tools, events = "messages.jsonl", "tool_calls.jsonl", "events.jsonl"
	whole := newWhole(t)
	for name, c := range map[string]struct {
		harm func(t *testing.T, d damaged)
		file string // the file that errors must name
		line int    // the line that they must name; 0: the whole file
		// unnoticed: writers succeed, because they do not read this part.
		unnoticed bool
	}{
		"cut into what is committed": {func(t *testing.T, d damaged) {
			d.edit(t, openPhase+messages, func(all [][]byte) [][]byte { return [][]byte{all[0], all[1][:20]} })
		}, openPhase + messages, 2, false},
		"cut at a line of what is committed": {func(t *testing.T, d damaged) {
			d.edit(t, openPhase+messages, func(all [][]byte) [][]byte { return all[:1] })
		}, openPhase + messages, 2, false},
		"cut into what is not committed": {func(t *testing.T, d damaged) { d.cut(t, openPhase+messages, 20) },
			openPhase + messages, 5, false},
		"cut at a line of what is not committed": {func(t *testing.T, d damaged) {
			d.edit(t, openPhase+messages, func(all [][]byte) [][]byte { return all[:4] })
		}, openPhase + messages, 5, false},
		"cut the only file that ends the tape": {func(t *testing.T, d damaged) {
			d.edit(t, openPhase+events, func(all [][]byte) [][]byte { return all[:1] })
		}, openPhase + events, 2, false},
		"cut a closed phase": {func(t *testing.T, d damaged) { d.cut(t, closedPhase+messages, 20) },
			closedPhase + messages, 3, true},
		"garbage for a committed line": {func(t *testing.T, d damaged) { d.replace(t, openPhase+messages, 2, `"kind"`, `#kind#`) },
			openPhase + messages, 2, false},
		"garbage for a line not committed": {func(t *testing.T, d damaged) { d.replace(t, openPhase+messages, 4, `"kind"`, `#kind#`) },
			openPhase + messages, 4, false},
		"garbage in a closed phase": {func(t *testing.T, d damaged) { d.replace(t, closedPhase+tools, 1, `"kind"`, `#kind#`) },
			closedPhase + tools, 1, true},
		"other words, same length": {func(t *testing.T, d damaged) { d.replace(t, openPhase+messages, 2, "nine", "NINE") },
			openPhase + messages, 2, false},
		"other words, longer": {func(t *testing.T, d damaged) { d.replace(t, openPhase+messages, 2, "nine", "ninety-nine") },
			openPhase + messages, 2, false},
		"other words, shorter": {func(t *testing.T, d damaged) { d.replace(t, openPhase+messages, 2, "nine", "9") },
			openPhase + messages, 0, false},
		"other words in a line not committed": {func(t *testing.T, d damaged) { d.replace(t, openPhase+messages, 4, "user", "USER") },
			openPhase + messages, 0, false},
		"other words in a closed phase": {func(t *testing.T, d damaged) { d.replace(t, closedPhase+messages, 2, "three", "THREE") },
			closedPhase + messages, 2, true},
		"a line added to a closed phase": {func(t *testing.T, d damaged) { d.add(t, closedPhase+messages, line(7, "late")) },
			closedPhase, 0, true},
		"a line removed": {func(t *testing.T, d damaged) {
			d.edit(t, openPhase+messages, func(all [][]byte) [][]byte { return slices.Delete(all, 1, 2) })
		}, openPhase + messages, 0, false},
		"an id twice": {func(t *testing.T, d damaged) { d.add(t, openPhase+messages, line(13, "again")) },
			openPhase + messages, 6, false},
		"an id left out": {func(t *testing.T, d damaged) { d.add(t, openPhase+messages, line(16, "sixteen")) },
			openPhase + messages, 6, false},
		"a garbage line at the end": {func(t *testing.T, d damaged) { d.add(t, openPhase+events, "what?\n") },
			openPhase + events, 3, false},
		"an empty line": {func(t *testing.T, d damaged) { d.add(t, openPhase+events, "\n") },
			openPhase + events, 3, false},
		"an entry in the wrong file": {func(t *testing.T, d damaged) { d.add(t, openPhase+events, line(15, "not an event")) },
			openPhase + events, 3, false},
		"a file deleted": {func(t *testing.T, d damaged) { storetest.Remove(t, d.file(openPhase+messages)) },
			openPhase + messages, 0, false},
		"the file deleted that ends the tape": {func(t *testing.T, d damaged) { storetest.Remove(t, d.file(openPhase+events)) },
			openPhase + events, 0, false},
		"a file of a closed phase deleted": {func(t *testing.T, d damaged) { storetest.Remove(t, d.file(closedPhase+tools)) },
			closedPhase, 0, true},
		"an anchor deleted": {func(t *testing.T, d damaged) { storetest.Remove(t, d.file(openPhase+"anchor.json")) },
			openPhase + "anchor.json", 0, false},
		"an anchor overwritten": {func(t *testing.T, d damaged) { storetest.WriteFile(t, d.file(openPhase+"anchor.json"), []byte("{}\n")) },
			openPhase + "anchor.json", 0, true},
		"the open phase deleted": {func(t *testing.T, d damaged) { storetest.Remove(t, d.file(openPhase)) },
			openPhase, 0, false},
		"a closed phase deleted": {func(t *testing.T, d damaged) { storetest.Remove(t, d.file(closedPhase)) },
			"anchors", 0, false},
		"all phases deleted": {func(t *testing.T, d damaged) { storetest.Remove(t, d.file("anchors")) },
			"anchors", 0, false},
	} {
		for _, journal := range []string{"", ", journal lost"} {
			if journal != "" && strings.Contains(name, "not committed") || strings.Contains(name, "ends the tape") && journal != "" {
				continue // only the journal would say what is missing
			}
			t.Run(name+journal, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "ws")
				storetest.CopyTree(t, whole.Dir(), dir)
				s := storetest.Reopen(t, dir)
				d := damaged{s, storetest.Tape(t, s, "")}
				c.harm(t, d)
				if journal != "" {
					storetest.Remove(t, filepath.Join(d.Dir(), ".git", "tape", "locks"))
				}
				want := func(what, file string, n int, err error) {
					t.Helper()
					path := filepath.Clean(filepath.FromSlash(c.file))
					if !strings.Contains(filepath.FromSlash(file), path) && !strings.Contains(filepath.FromSlash(file), filepath.Dir(path)) {
						t.Errorf("%s names the file %q, want %s: %v", what, file, c.file, err)
					}
					if c.line > 0 && n != c.line {
						t.Errorf("%s names line %d, want %d: %v", what, n, c.line, err)
					}
				}
				s = storetest.Reopen(t, dir)
				tp := storetest.Tape(t, s, "main")
				var broken *repo.CorruptError
				_, err := storetest.Collect(t.Context(), tp, repo.Query{})
				if errors.As(err, &broken) {
					want("a read", broken.File, broken.Line, err)
				} else {
					t.Errorf("a read returned %v, want a CorruptError", err)
				}

				report, err := s.Verify(t.Context())
				if err != nil {
					t.Fatalf("verify: %v", err)
				}
				if report.OK || len(report.Problems) == 0 {
					t.Fatal("verify finds no problem, want one")
				}
				named := slices.ContainsFunc(report.Problems, func(p audit.Problem) bool {
					return strings.HasPrefix(p.File+"/", strings.TrimSuffix(c.file, "/")+"/") && (c.line == 0 || p.Line == c.line)
				})
				if !named {
					t.Errorf("verify does not name %s:%d: %v", c.file, c.line, report.Problems)
				}

				before := storetest.EntryFiles(t, d.Dir())
				for what, write := range map[string]func() error{
					"append":     func() error { _, err := tp.Append(t.Context(), nil, repo.Message("user", "more")); return err },
					"batch":      func() error { _, err := tp.Append(t.Context(), nil, repo.System("a"), repo.System("b")); return err },
					"handoff":    func() error { _, err := tp.Handoff(t.Context(), repo.Anchor{Name: "next"}); return err },
					"checkpoint": func() error { _, _, err := tp.Checkpoint(t.Context()); return err },
				} {
					if c.unnoticed {
						break
					}
					if err := write(); !errors.As(err, &broken) {
						t.Errorf("%s returned %v, want a CorruptError", what, err)
					} else {
						want(what, broken.File, broken.Line, err)
						if len(repo.Hints(err)) == 0 {
							t.Errorf("%s gives no hint", what)
						}
					}
				}
				if !c.unnoticed && before != storetest.EntryFiles(t, d.Dir()) {
					t.Error("a refused write changed files")
				}
			})
		}
	}
}

// TestDamageUndone breaks a tape as TestDamage does, and follows the hints to repair it.
func TestDamageUndone(t *testing.T) {
	d := newDamaged(t)
	d.edit(t, openPhase+"messages.jsonl", func(all [][]byte) [][]byte { return all[:1] })
	storetest.Remove(t, d.file(openPhase+"events.jsonl"))
	_, err := d.Tape.Append(t.Context(), nil, repo.Message("user", "x"))
	storetest.WantIs(t, err, repo.ErrCorrupt)
	if hint := fmt.Sprint(repo.Hints(err)); !strings.Contains(hint, "repair-tape") {
		t.Errorf("the hint is %q, want repair-tape", hint)
	}
	storetest.Git(t, d.Dir(), "restore", "--", openPhase)
	_, err = d.Tape.Append(t.Context(), nil, repo.Message("user", "x"))
	storetest.WantIs(t, err, repo.ErrCorrupt) // what was not committed is still missing
	if _, err := d.Store.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := storetest.Append(t, d.Tape, repo.Message("user", "on we go"))
	if e[0].ID != 15 { // ids of lost entries are not assigned again
		t.Errorf("the next id is %d, want 15", e[0].ID)
	}
	storetest.Healthy(t, d.Dir())
}

// TestTornLine: an unfinished last line was never acknowledged. Readers ignore it, and the next write sets it aside.
func TestTornLine(t *testing.T) {
	for name, torn := range map[string]string{
		"half a line":                `{"id":15,"kind":"mess`,
		"a whole line but its end":   strings.TrimSuffix(line(15, "almost"), "\n"),
		"zeros, as some disks leave": strings.Repeat("\x00", 100),
		"one byte":                   "{",
	} {
		t.Run(name, func(t *testing.T) {
			d := newDamaged(t)
			d.add(t, openPhase+"messages.jsonl", torn)
			warned := []string{}
			s, err := repo.Open(t.Context(), d.Dir(), &repo.Options{Warn: func(m string) { warned = append(warned, m) }})
			storetest.Must(t, err)
			tp := storetest.Tape(t, s, "")
			if got := len(storetest.Entries(t, tp, repo.Query{})); got != 14 {
				t.Errorf("readers see %d entries, want 14", got)
			}
			if e := storetest.Append(t, tp, repo.Message("user", "the real one")); e[0].ID != 15 {
				t.Errorf("the next id is %d, want 15", e[0].ID)
			}
			kept, err := filepath.Glob(filepath.Join(d.Dir(), ".git", "tape", "torn", "*", "anchors", "*", "*"))
			if err != nil || len(kept) != 1 {
				t.Fatalf("set aside %v, %v; want one file", kept, err)
			}
			if got := string(storetest.ReadFile(t, kept[0])); got != torn {
				t.Errorf("the file set aside has %q, want %q", got, torn)
			}
			if len(warned) != 1 || !strings.Contains(warned[0], kept[0]) {
				t.Errorf("the warnings are %q, want one that names %s", warned, kept[0])
			}
			storetest.Handoff(t, tp, "on we go")
			storetest.WantClean(t, d.Dir())
			storetest.Healthy(t, d.Dir())
		})
	}
}

// TestTornFile: a file begun for a line that was never acknowledged is not damage.
func TestTornFile(t *testing.T) {
	for name, torn := range map[string]string{"empty": "", "half a line": `{"id":15,"kind":"tool_c`} {
		t.Run(name, func(t *testing.T) {
			d := newDamaged(t)
			storetest.WriteFile(t, d.file(openPhase+"tool_calls.jsonl"), []byte(torn))
			storetest.Recovered(t, d.Dir())
			call := repo.Draft{Kind: repo.KindToolCall, Payload: []byte(`{"calls":[]}`)}
			if e := storetest.Append(t, d.Tape, call); e[0].ID != 15 {
				t.Errorf("the next id is %d, want 15", e[0].ID)
			}
			storetest.Handoff(t, d.Tape, "on we go")
			storetest.WantClean(t, d.Dir())
			storetest.Healthy(t, d.Dir())
		})
	}
}

// TestHandWork: a valid line written with an editor becomes an ordinary entry, whether it is committed by hand or not.
func TestHandWork(t *testing.T) {
	for _, commit := range []bool{false, true} {
		t.Run(fmt.Sprintf("committed=%v", commit), func(t *testing.T) {
			d := newDamaged(t)
			d.add(t, openPhase+"messages.jsonl", line(15, "by hand"))
			if commit {
				storetest.Git(t, d.Dir(), "-c", "user.name=Hand", "-c", "user.email=h@example.org", "commit", "--quiet", "-am", "by hand")
			}
			got := storetest.Entries(t, d.Tape, repo.Query{Tail: repo.N(1)})
			if len(got) != 1 || got[0].ID != 15 || !bytes.Contains(got[0].Payload, []byte("by hand")) {
				t.Errorf("the last entry is %v, want @15 by hand", storetest.Lines(got))
			}
			if e := storetest.Append(t, d.Tape, repo.Message("user", "by program")); e[0].ID != 16 {
				t.Errorf("the next id is %d, want 16", e[0].ID)
			}
			storetest.Handoff(t, d.Tape, "next")
			storetest.WantClean(t, d.Dir())
			storetest.Healthy(t, d.Dir())
		})
	}
}

// TestDamagedGit damages what is in git.
func TestDamagedGit(t *testing.T) {
	t.Run("tape.json in a commit", func(t *testing.T) {
		d := newDamaged(t)
		storetest.WriteFile(t, d.file("tape.json"), []byte("{}\n"))
		storetest.Git(t, d.Dir(), "-c", "user.name=Hand", "-c", "user.email=h@example.org", "commit", "--quiet", "-am", "oops")
		s := storetest.Reopen(t, d.Dir())
		_, err := s.Tape(t.Context(), "main")
		storetest.Must(t, err)
		if list, err := s.Tapes(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("the list has the damaged tape: %v, %v", list, err)
		}
		report, err := s.Verify(t.Context())
		storetest.Must(t, err)
		if !slices.ContainsFunc(report.Problems, func(p audit.Problem) bool { return strings.HasSuffix(p.File, ":tape.json") }) {
			t.Errorf("verify does not name tape.json: %v", report.Problems)
		}
	})
	for name, content := range map[string]string{"empty": "", "garbage": "what?\n", "zeros": strings.Repeat("\x00", 41),
		"no such object": strings.Repeat("1", 40) + "\n"} {
		t.Run("ref file: "+name, func(t *testing.T) {
			d := newDamaged(t)
			storetest.WriteFile(t, d.file(".git/refs/heads/tape/main"), []byte(content))
			s := storetest.Reopen(t, d.Dir())
			check := func(what string, err error) {
				t.Helper()
				storetest.WantIs(t, err, repo.ErrCorrupt)
				if err != nil && !strings.Contains(err.Error(), "tape/main") && !strings.Contains(err.Error(), "1111") {
					t.Errorf("%s does not say which ref: %v", what, err)
				}
			}
			tp, err := s.Tape(t.Context(), "main")
			if err == nil {
				_, err = storetest.Collect(t.Context(), tp, repo.Query{})
			}
			check("a read", err)
			if tp == nil {
				tp = d.Tape
			}
			_, err = tp.Append(t.Context(), nil, repo.Message("user", "x"))
			check("append", err)
			report, err := s.Verify(t.Context())
			if err != nil {
				t.Fatalf("verify: %v", err)
			}
			if report.OK {
				t.Error("verify finds no problem, want one")
			}
		})
	}
	t.Run("tags", func(t *testing.T) {
		d := newDamaged(t)
		lost := storetest.Git(t, d.Dir(), "rev-parse", "anchor/main/001_session-start")
		storetest.Git(t, d.Dir(), "tag", "-d", "anchor/main/001_session-start")
		storetest.Git(t, d.Dir(), "tag", "-f", "anchor/main/002_work", "HEAD~1")
		storetest.Git(t, d.Dir(), "tag", "anchor/main/009_mine")
		report, err := storetest.Reopen(t, d.Dir()).Verify(t.Context())
		storetest.Must(t, err)
		for _, tag := range []string{"002_work", "009_mine"} {
			if !slices.ContainsFunc(report.Problems, func(p audit.Problem) bool { return strings.HasSuffix(p.File, "anchor/main/"+tag) }) {
				t.Errorf("verify does not name %s: %v", tag, report.Problems)
			}
		}
		if _, err := d.Store.Repair(t.Context()); err != nil {
			t.Fatal(err)
		}
		if again := storetest.Git(t, d.Dir(), "rev-parse", "anchor/main/001_session-start"); again != lost {
			t.Errorf("the lost tag was %s, and is %s now", lost, again)
		}
	})
	t.Run("lost blob", func(t *testing.T) {
		d := newDamaged(t)
		blob := storetest.Git(t, d.Dir(), "rev-parse", "HEAD:"+openPhase+"messages.jsonl")
		storetest.Remove(t, d.file(".git/objects/"+blob[:2]+"/"+blob[2:]))
		report, err := storetest.Reopen(t, d.Dir()).Verify(t.Context())
		if err != nil || report.OK {
			t.Errorf("verify of a lost blob: %v, %v; want a problem", report, err)
		}
	})
	for name, content := range map[string]string{"garbage": "what?", "array": "[]", "empty": "", "policy": `{"commit":"never"}`, "number": `{"max_line":"much"}`} {
		t.Run("config.json: "+name, func(t *testing.T) {
			d := newDamaged(t)
			storetest.WriteFile(t, d.file(".git/tape/config.json"), []byte(content))
			_, err := repo.Open(t.Context(), d.Dir(), nil)
			storetest.WantIs(t, err, repo.ErrCorrupt)
			if err == nil || !strings.Contains(err.Error(), "config.json") || len(repo.Hints(err)) == 0 {
				t.Errorf("it should name the file and a way out: %v (%s)", err, repo.Hints(err))
			}
		})
	}
	t.Run("config.json: unknown settings stay", func(t *testing.T) {
		d := newDamaged(t)
		storetest.WriteFile(t, d.file(".git/tape/config.json"), []byte(`{"tape":"main","future":{"a":1.0}}`))
		s := storetest.Reopen(t, d.Dir())
		storetest.Must(t, s.SetSetting("commit", "turn"))
		if raw := storetest.ReadFile(t, d.file(".git/tape/config.json")); !bytes.Contains(raw, []byte(`1.0`)) {
			t.Errorf("setting a value lost the unknown setting: %s", raw)
		}
	})
}
