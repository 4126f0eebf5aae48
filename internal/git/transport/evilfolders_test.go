//go:build unix

package transport

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// evilFolder is a repository made from a good one.
type evilFolder struct {
	name  string
	build func(t testing.TB, dir, good string)
}

// evilFolders are repositories that do harm only to those who open them as a folder: something
// that should be a file is endless, or is not a file. It must be checked before it is read.
func evilFolders() []evilFolder {
	var out []evilFolder
	put := func(name, file string, make func(t testing.TB, path string)) {
		out = append(out, evilFolder{name + ": " + file, func(t testing.TB, dir, good string) {
			mustDo(t, os.CopyFS(dir, os.DirFS(good)))
			path := filepath.Join(dir, filepath.FromSlash(file))
			mustDo(t, os.MkdirAll(filepath.Dir(path), 0o700))
			mustDo(t, os.RemoveAll(path))
			make(t, path)
		}})
	}
	object := "objects/ab/" + strings.Repeat("c", 38)
	pack := "objects/pack/pack-" + strings.Repeat("d", 40)
	for _, file := range []string{
		"HEAD", "config", "packed-refs", "shallow", "info/grafts", "refs/heads/tape/x", "refs/tags/x", "logs/refs/heads/tape/x",
		"objects/info/alternates", "objects/info/commit-graph", "objects/info/commit-graphs/x", object, pack + ".pack", pack + ".idx",
	} {
		put("a pipe", file, func(t testing.TB, path string) { mustDo(t, syscall.Mkfifo(path, 0o600)) })
	}
	for _, file := range []string{"HEAD", "config", "packed-refs", "refs/heads/tape/x", "objects/info/alternates", object} {
		put("a link to a device", file, func(t testing.TB, path string) { mustDo(t, os.Symlink("/dev/zero", path)) })
	}
	for _, file := range []string{"packed-refs", "refs/heads/tape/x"} {
		put("a socket", file, socket)
	}
	for _, file := range []string{"config", "packed-refs", "objects/info/alternates"} {
		put("a folder", file, func(t testing.TB, path string) { mustDo(t, os.Mkdir(path, 0o700)) })
	}
	for _, file := range []string{"HEAD", "config", "packed-refs", "shallow", "refs/heads/tape/x", "objects/info/alternates", pack + ".idx"} {
		put("a terabyte", file, func(t testing.TB, path string) {
			write(t, path, "")
			mustDo(t, os.Truncate(path, 1<<40))
		})
	}
	put("a link back", "refs/heads/again", func(t testing.TB, path string) { mustDo(t, os.Symlink("../heads", path)) })
	put("a link out", "HEAD", func(t testing.TB, path string) { mustDo(t, os.Symlink("/etc/passwd", path)) })
	put("itself, 1,000 times", "objects", func(t testing.TB, path string) {
		write(t, filepath.Join(path, "info", "alternates"), strings.Repeat(path+"\n", 1000))
	})
	put("an index of more objects than it has", pack+".idx", func(t testing.TB, path string) {
		write(t, path, "\xfftOc\x00\x00\x00\x02"+strings.Repeat("\xf0\x00\x00\x00", 256)+strings.Repeat("x", 100))
	})
	put("a million refs and one", "packed-refs", func(t testing.TB, path string) {
		var b strings.Builder
		for i := range 1_000_001 {
			fmt.Fprintf(&b, "%040x refs/heads/tape/%d\n", 1, i)
		}
		write(t, path, b.String())
	})
	put("an included pipe", "elsewhere", func(t testing.TB, path string) {
		mustDo(t, syscall.Mkfifo(path, 0o600))
		config := filepath.Join(filepath.Dir(path), "config")
		before, err := os.ReadFile(config)
		mustDo(t, err)
		write(t, config, string(before)+"[includeIf \"onbranch:x\"]\n\tpath = elsewhere\n")
	})
	return out
}

// socket leaves a socket on which nobody listens. A socket can only be made at a path of at most 100 bytes, so it is
// moved.
func socket(t testing.TB, path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	mustDo(t, err)
	defer os.RemoveAll(dir)
	near := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: near, Net: "unix"})
	mustDo(t, err)
	l.SetUnlinkOnClose(false)
	mustDo(t, l.Close())
	mustDo(t, os.Rename(near, path))
}

func write(t testing.TB, path, text string) {
	t.Helper()
	mustDo(t, os.MkdirAll(filepath.Dir(path), 0o700))
	mustDo(t, os.WriteFile(path, []byte(text), 0o600))
}
