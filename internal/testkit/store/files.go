package storetest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/repo"
	"testing"
)

// Remove deletes a file or folder that has to be there.
func Remove(t testing.TB, path string) {
	t.Helper()
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
	Must(t, os.RemoveAll(path))
}

// EntryFiles is the content of all entry files.
func EntryFiles(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	for _, pattern := range []string{"anchors/*/*", "tapes/*/anchors/*/*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		Must(t, err)
		for _, f := range files {
			fmt.Fprintf(&b, "%s\n%s\n", f, ReadFile(t, f))
		}
	}
	return b.String()
}

// PlainGit runs git without tape on the PATH, so that git merges files by itself.
func PlainGit(t testing.TB, dir string, args ...string) (string, error) {
	t.Helper()
	git, err := exec.LookPath("git")
	Must(t, err)
	cmd := exec.Command(git, append([]string{"-c", "user.name=Hand", "-c", "user.email=hand@example.org"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+filepath.Dir(git))
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Mkdir makes a folder with its parents.
func Mkdir(t testing.TB, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	Must(t, os.MkdirAll(dir, 0o700))
	return dir
}

// Git runs git in a folder and returns what it prints, white space trimmed.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// ReadFile returns the content of a file.
func ReadFile(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	Must(t, err)
	return raw
}

// WriteFile writes a file.
func WriteFile(t testing.TB, path string, data []byte) {
	t.Helper()
	Must(t, os.WriteFile(path, data, 0o600))
}

// CopyTree copies a folder, modification times included, so that a copied workspace
// looks untouched since its last write.
func CopyTree(t testing.TB, from, to string) {
	t.Helper()
	var folders []string
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			folders = append(folders, rel)
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, rel), raw, info.Mode()); err != nil {
			return err
		}
		return os.Chtimes(filepath.Join(to, rel), info.ModTime(), info.ModTime())
	})
	Must(t, err)
	for _, rel := range slices.Backward(folders) {
		info, err := os.Stat(filepath.Join(from, rel))
		if err == nil {
			err = os.Chtimes(filepath.Join(to, rel), info.ModTime(), info.ModTime())
		}
		Must(t, err)
	}
}

// Hash parses a hash.
func Hash(t testing.TB, hex string) gitstore.Hash {
	t.Helper()
	h, err := gitstore.ParseHash(hex)
	Must(t, err)
	return h
}

// HandLine appends a message to the newest file of messages as somebody with an editor
// does, or begins a new file if there is none or it is full. It returns the file's
// path, relative to the working tree.
func HandLine(t testing.TB, dir string, id int, text string) string {
	t.Helper()
	list, err := snapshot.ListPhases(dir)
	Must(t, err)
	folder := filepath.Join(dir, layout.AnchorsDir, list[len(list)-1].Folder)
	newest := 0
	names, err := workspace.DirNames(folder)
	Must(t, err)
	for _, name := range names {
		if c, n, ok := layout.ParseSegment(name); ok && c == layout.ClassOf(repo.KindMessage) {
			newest = max(newest, n)
		}
	}
	var data []byte
	if newest > 0 {
		data = ReadFile(t, filepath.Join(folder, layout.SegmentName(layout.ClassOf(repo.KindMessage), newest)))
	}
	if newest == 0 || len(data) >= layout.SealSize {
		newest, data = newest+1, nil
	}
	name := layout.SegmentName(layout.ClassOf(repo.KindMessage), newest)
	payload := append(jsonl.AppendString([]byte(`{"role":"user","content":`), text), '}')
	data = fmt.Appendf(data, `{"id":%d,"kind":"message","payload":%s,"meta":{},"date":"2026-01-02T03:04:05.000000+00:00"}`+"\n", id, payload)
	WriteFile(t, filepath.Join(folder, name), data)
	return filepath.ToSlash(filepath.Join(layout.AnchorsDir, list[len(list)-1].Folder, name))
}
