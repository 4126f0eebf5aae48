//go:build unix

package tools

//tape:race: commands run in the background

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	e.put("a.txt", "one\ntwo\nthree\nfour")
	if out := e.must("fs.read", `{"path":"a.txt"}`); out != "     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n" {
		t.Errorf("fs.read of the whole file: %q", out)
	}
	out := e.must("fs_read", `{"path":"`+e.dir+`/a.txt","offset":2,"limit":"2"}`)
	if out != "     2\ttwo\n     3\tthree\n(more follows: read on with offset=4)\n" {
		t.Errorf("fs.read of lines 2 and 3: %q", out)
	}
	contains(t, e.must("fs.read", `{"path":"a.txt","offset":9}`), "ends with line 4")
	contains(t, e.must("fs.read", `{"path":"a.txt","offset":9223372036854775807}`), "ends with line 4")
	e.put("folder/one", "")
	e.put("folder/two", "")
	if out := e.must("fs.read", `{"path":"folder","offset":2,"limit":9223372036854775807}`); out != "two\n" {
		t.Errorf("fs.read of the folder from its second name: %q", out)
	}
	e.put("empty", "")
	contains(t, e.must("fs.read", `{"path":"empty"}`), "empty")
	e.put("crlf", "a\r\nb\r\n")
	contains(t, e.must("fs.read", `{"path":"crlf"}`), "     1\ta\n     2\tb\n", "CR LF")
	e.put("long", strings.Repeat("ä", 100_000)+"\nnext\n")
	contains(t, e.must("fs.read", `{"path":"long"}`), "[198000 more bytes]", "     2\tnext")
	e.put("many", strings.Repeat("0123456789\n", 100_000))
	out = e.must("fs.read", `{"path":"many"}`)
	if contains(t, out, "read on with offset="); len(out) > pageBytes+100 {
		t.Errorf("a page has %d bytes", len(out))
	}
}

// Reading page after page shows every line once.
func TestReadOn(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	var want strings.Builder
	for i := range 5000 {
		fmt.Fprintln(&want, strings.Repeat("x", i%300), i)
	}
	e.put("f", want.String())
	var got strings.Builder
	for next := 1; next > 0; {
		out := e.must("fs.read", obj("path", "f", "offset", next))
		next = 0
		for line := range strings.Lines(out) {
			if _, err := fmt.Sscanf(line, "(more follows: read on with offset=%d)", &next); err != nil {
				_, text, _ := strings.Cut(line, "\t")
				got.WriteString(text)
			}
		}
	}
	if got.String() != want.String() {
		t.Errorf("the pages have %d bytes, not the %d of the file", got.Len(), want.Len())
	}
}

// Each tool refuses a path that is not a file of the project, without waiting or writing.
func TestHostilePaths(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("top secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e.put("in/a.txt", "a\n")
	e.put("bin", "\x7fELF\x00\x00")
	e.put("png", "\x89PNG\r\n\x1a\n\x00\x00")
	e.put("latin1", "gr\xfc\xdfe\n")
	e.put("late", strings.Repeat("x", sniffBytes)+"\x00\n")
	e.put("readonly", "a\n")
	e.put(".git/config", "a\n")
	for _, name := range []string{"bare/HEAD", "bare/refs/x", "half/HEAD", "half/objects/x"} {
		e.put(name, "a\n")
	}
	if out, err := e.call("bash", `{"cmd":"mkfifo fifo; chmod 444 readonly; ln -s `+outside+` out; ln -s / root; ln -s loop loop; ln -s nowhere gone; ln -s /dev/zero zero; ln -s .git link; `+
		`ln -s $PWD/in/a.txt absolute; truncate -s 1T sparse"}`); err != nil {
		t.Fatal(out, err)
	}
	for path, words := range map[string][3]string{ // read, edit, write
		"../x":                    {"outside", "outside", "outside"},
		"in/../../x":              {"outside", "outside", "outside"},
		outside:                   {"outside", "outside", "outside"},
		"out":                     {"outside", "outside", "outside"},
		"root/etc/passwd":         {"outside", "outside", "outside"},
		"zero":                    {"outside", "outside", "outside"},
		"/dev/zero":               {"outside", "outside", "outside"},
		"/proc/self/mem":          {"outside", "outside", "outside"},
		"fifo":                    {"named pipe", "named pipe", "named pipe"},
		"in":                      {"", "folder", "folder"},
		".":                       {"", "folder", "folder"},
		"loop":                    {"too many links", "too many links", "too many links"},
		"gone":                    {"no such file", "no such file", "leads nowhere"},
		"a\x00b":                  {"NUL", "NUL", "NUL"},
		"nowhere":                 {"read nowhere: no such file", "fs.write creates", ""},
		"in/a.txt/b":              {"not a directory", "not a directory", "not a directory"},
		strings.Repeat("x", 5000): {"too long", "too long", "too long"},
		"bin":                     {"application/octet-stream", "NUL", ""},
		"png":                     {"image/png", "NUL", ""},
		"latin1":                  {"another encoding", "", ""},
		"late":                    {"", "UTF-8", ""},
		"sparse":                  {"UTF-8", "1048576 MiB", ""},
		"readonly":                {"", "read-only", "read-only"},
		".git/config":             {"", ".git", ".git"},
		".git/hooks/new":          {"no such file", "no such file", ".git"},
		"link/config":             {"", ".git", ".git"},
		"link/new/x":              {"no such file", "no such file", ".git"},
		"bare/objects/x":          {"no such file", "no such file", "bare for a repository"}, // git would find HEAD, objects and refs
		"half/config":             {"no such file", "fs.write creates", ""},
		"":                        {"path", "path", "path"},
	} {
		for i, args := range []string{obj("path", path), obj("path", path, "old", "a", "new", "b"), obj("path", path, "content", "new")} {
			tool := []string{"fs.read", "fs.edit", "fs.write"}[i]
			if words[i] != "" {
				e.fails(tool, args, words[i])
			} else if tool == "fs.read" {
				e.must(tool, args)
			}
		}
	}
	if got := readFile(outside); got != "top secret\n" {
		t.Errorf("the file outside of the project has become %q", got)
	}
	if got := e.got(".git/config"); got != "a\n" {
		t.Errorf(".git/config has become %q", got)
	}
	e.must("fs.edit", `{"path":"absolute","old":"a","new":"b"}`)
	if info, err := os.Lstat(filepath.Join(e.dir, "absolute")); e.got("in/a.txt") != "b\n" || err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("a link within the project is not followed")
	}
}

// The search for a line far into a large file ends with the turn.
func TestReadIsCancelled(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	e.must("bash", `{"cmd":"echo text > big; yes | head -c 10000 >> big; truncate -s 100G big"}`)
	e.fails("fs.read", `{"path":"big","offset":100000000}`, "MiB into the file")
	e.fails("fs.read", `{"path":"big","offset":5000,"limit":10}`, "line 5002", "MiB into the file")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.callIn(ctx, "s", "fs.read", `{"path":"big","offset":100000000}`); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled turn: %v, want context.Canceled", err)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	contains(t, e.must("fs.write", `{"path":"deep/er/a.sh","content":"one\n"}`), "created: deep/er/a.sh")
	if err := os.Chmod(filepath.Join(e.dir, "deep/er/a.sh"), 0o751); err != nil {
		t.Fatal(err)
	}
	contains(t, e.must("fs.write", `{"path":"deep/er/a.sh","content":"two\n"}`), "replaced")
	e.must("fs.edit", `{"path":"deep/er/a.sh","old":"two","new":"three"}`)
	info, err := os.Stat(filepath.Join(e.dir, "deep/er/a.sh"))
	if err != nil || info.Mode().Perm() != 0o751 || e.got("deep/er/a.sh") != "three\n" {
		t.Errorf("the file has the mode %v and the content %q, %v", info.Mode(), e.got("deep/er/a.sh"), err)
	}
	files, err := os.ReadDir(filepath.Join(e.dir, "deep/er"))
	if err != nil || len(files) != 1 {
		t.Errorf("the folder has %v, %v; want only a.sh", files, err)
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	for _, c := range []struct{ was, args, want, err string }{
		{"a\nb\nc\n", `"old":"b","new":"B"`, "a\nB\nc\n", ""},
		{"a\nb\nb\n", `"old":"b","new":"B"`, "", "2 times"},
		{"a\nb\nb\n", `"old":"b","new":"B","all":true`, "a\nB\nB\n", ""},
		{"a\nb\nb\n", `"old":"b","new":"B","all":"true"`, "a\nB\nB\n", ""},
		{"a\n", `"old":"x","new":"y"`, "", "not in the file"},
		{"a\n", `"old":"a","new":"a"`, "", "the same"},
		{"a\n", `"old":"","new":"a"`, "", "minLength"},
		{"a\r\nb\r\nc\r\n", `"old":"a\nb","new":"x\ny\nz"`, "x\r\ny\r\nz\r\nc\r\n", ""},
		{"a\r\nb\r\nc\r\n", `"old":"a\r\nb","new":"x\r\ny"`, "x\r\ny\r\nc\r\n", ""},
		{"a\r\nb\r\n", `"old":"b","new":"b\nc"`, "a\r\nb\r\nc\r\n", ""},
		{"a\nb\r\nc\n", `"old":"b\r\nc","new":"x"`, "a\nx\n", ""},
		{"gr\xfc\xdfe a\n", `"old":"a","new":"b"`, "gr\xfc\xdfe b\n", ""},
		{"\ufeffa\n", `"old":"a","new":"b"`, "\ufeffb\n", ""},
		{"no end", `"old":"end","new":"$1 \\0"`, "no $1 \\0", ""},
	} {
		e.put("f", c.was)
		args := `{"path":"f",` + c.args + `}`
		if c.err != "" {
			e.fails("fs.edit", args, c.err)
			c.want = c.was
		} else {
			e.must("fs.edit", args)
		}
		if got := e.got("f"); got != c.want {
			t.Errorf("%s makes %q of %q, not %q", c.args, got, c.was, c.want)
		}
	}
}

// Parallel edits of one file lose nothing.
func TestParallelEdits(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	const n = 20
	var was, want strings.Builder
	for i := range n {
		fmt.Fprintf(&was, "old%02d\n", i)
		fmt.Fprintf(&want, "new%02d\n", i)
	}
	e.put("f", was.String())
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			if _, err := e.call("fs.edit", obj("path", "f", "old", fmt.Sprintf("old%02d", i), "new", fmt.Sprintf("new%02d", i))); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if e.got("f") != want.String() {
		t.Errorf("the file is\n%s\nnot\n%s", e.got("f"), want.String())
	}
}
