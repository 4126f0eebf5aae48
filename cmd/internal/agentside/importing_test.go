package agentside

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/resume"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// run makes an import whose user has a home directory of their own.
func run(t *testing.T) (m *Import, out *bytes.Buffer, home string) {
	t.Helper()
	out, home = &bytes.Buffer{}, t.TempDir()
	t.Setenv("TAPE_HOME", filepath.Join(home, ".tape"))
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	s := &stdio.Streams{Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Out: bufio.NewWriter(out), Getenv: env, Now: time.Now}
	return &Import{Streams: s, Version: "test", Source: importer.OpenFile}, out, home
}

// session writes a transcript of Claude Code.
func session(t *testing.T, dir, id, cwd string, requests ...string) string {
	t.Helper()
	path := filepath.Join(storetest.Mkdir(t, dir), id+".jsonl")
	var lines []byte
	for i, text := range requests {
		lines = fmt.Appendf(lines, `{"parentUuid":null,"cwd":%q,"sessionId":%q,"type":"user","message":{"role":"user","content":%q},"uuid":"u%d","timestamp":"2026-03-01T10:00:0%dZ"}`+"\n", cwd, id, text, i, i)
	}
	storetest.WriteFile(t, path, lines)
	return path
}

// A file that cannot be imported does not stop the others. The error has a class only if all failures share it.
func TestFiles(t *testing.T) {
	m, out, home := run(t)
	s := storetest.New(t, nil)
	good := session(t, home, "s-1", "/p", "one", "two")
	odd := filepath.Join(home, "odd.jsonl")
	storetest.WriteFile(t, odd, []byte("not a transcript\n"))
	storetest.Must(t, m.Files(t.Context(), s, []string{good, odd, filepath.Join(home, "gone.jsonl")}))
	storetest.Must(t, m.Flush())
	if err := m.Failure(); err == nil || errors.Is(err, repo.ErrInvalid) || err.Error() != "2 of 3 files could not be imported" {
		t.Errorf("the failure is %v", err)
	}
	for _, want := range []string{"~/s-1.jsonl: 2 entries into tape \"s-1\"\n", "~/odd.jsonl", "~/gone.jsonl", "3 files: 2 entries into 1 session\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if name, err := LeaveEmpty(t.Context(), s, m.Tapes); err != nil || name != "s-1" {
		t.Errorf("the current tape becomes %q, %v", name, err)
	}
}

// The sessions of a directory go into the workspace of its project; those of no known project are named.
func TestEverything(t *testing.T) {
	m, out, home := run(t)
	shop, blog := storetest.Mkdir(t, home, "shop"), storetest.Mkdir(t, home, "blog")
	projects := filepath.Join(home, ".claude", "projects")
	session(t, filepath.Join(projects, "-shop"), "s-shop", shop, "one")
	session(t, filepath.Join(projects, "-blog"), "s-blog", blog, "one", "two")
	session(t, filepath.Join(projects, "-none"), "s-none", "", "one")
	into := map[string][]string{}
	all := Everything{Agents: importer.All(),
		Open: func(ctx context.Context, dir, project string) (*repo.Store, error) {
			s, _, err := repo.Init(ctx, dir, nil)
			return s, err
		},
		Imported: func(_ context.Context, s *repo.Store, tapes []string) error {
			into[s.Dir()] = append(into[s.Dir()], tapes...)
			return nil
		}}
	storetest.Must(t, m.Everything(t.Context(), all))
	storetest.Must(t, errors.Join(m.Flush(), m.Failure()))
	for dir, tapes := range into {
		if want := "s-" + strings.Split(filepath.Base(dir), "-")[0]; len(tapes) != 1 || tapes[0] != want {
			t.Errorf("%s has %q, want %s", dir, tapes, want)
		}
	}
	if len(into) != 2 {
		t.Errorf("%d workspaces, want 2", len(into))
	}
	for _, want := range []string{"s-none.jsonl does not say which project it belongs to", "3 files: 3 entries into 2 sessions of 2 projects\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// A tape that is imported again keeps its former history; one that was not imported is refused.
func TestAgain(t *testing.T) {
	m, out, home := run(t)
	s := storetest.New(t, nil)
	file := session(t, home, "s-1", "/p", "one")
	storetest.Must(t, m.Files(t.Context(), s, []string{file}))
	session(t, home, "s-1", "/p", "another", "two")
	at := resume.Where{User: record.Where{Home: home, Getenv: func(string) string { return "" }}}
	tp := storetest.Tape(t, s, "s-1")
	storetest.Must(t, m.Again(t.Context(), tp, "", at))
	storetest.Must(t, m.Flush())
	if !strings.Contains(out.String(), "the former history is kept as refs/tape/archive/s-1/") {
		t.Errorf("it does not say where the former history is:\n%s", out)
	}
	if got := strings.Join(storetest.Said(t, tp), " "); got != "[session/start] another two" {
		t.Errorf("the tape has %s", got)
	}
	if err := m.Again(t.Context(), storetest.Tape(t, s, "main"), "", at); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("a tape that was not imported: %v, want %v", err, repo.ErrInvalid)
	}
}

// A session that does not name its project is not given to one of two whose names are the same in the folder's name.
// Source: anthropics/claude-code#7009.
func TestFolderOfTwoProjects(t *testing.T) {
	m, _, home := run(t)
	folder := filepath.Join(home, ".claude", "projects", strings.ReplaceAll(home, "/", "-")+"-my-app")
	session(t, folder, "s-1", storetest.Mkdir(t, home, "my-app"), "one")
	session(t, folder, "s-2", storetest.Mkdir(t, home, "my", "app"), "two")
	session(t, folder, "s-3", "", "three")
	found, err := findSessions(t.Context(), importer.All(), m.Getenv, func(int) {})
	storetest.Must(t, err)
	if len(found.Projects) != 2 || len(found.Homeless) != 1 || found.Homeless[0].Tape != "s-3" {
		t.Errorf("%d projects, without one: %v", len(found.Projects), found.Homeless)
	}
}
