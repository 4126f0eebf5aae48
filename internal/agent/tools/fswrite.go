package tools

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/hooks"
)

// maxEdited is the size, in bytes, up to which files can be edited.
const maxEdited = 16 << 20

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (f *files) write(_ context.Context, _ hooks.ToolContext, a writeArgs) (string, error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	root, name, err := f.open(a.Path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := writable(root, name)
	if err == nil {
		err = put(root, name, []byte(a.Content), info)
	}
	if err != nil {
		return "", fmt.Errorf("write %s: %w", clip(a.Path, 200), err)
	}
	what := "created"
	if info != nil {
		what = "replaced"
	}
	return fmt.Sprintf("%s: %s (%d bytes)", what, a.Path, len(a.Content)), nil
}

// writable returns the file that a write would replace; nil if there is none. It returns an error if nothing may be
// written there.
func writable(root *os.Root, name string) (fs.FileInfo, error) {
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if strings.EqualFold(part, ".git") {
			return nil, errors.New("git owns what is in .git; use git in bash")
		}
	}
	if dir := repositoryWith(root, name); dir != "" {
		return nil, fmt.Errorf("git would take the folder %s for a repository, and run what its configuration names; use git in bash", dir)
	}
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, errors.New("it is a symbolic link that leads nowhere, or out of the project")
	}
	if err := refuse(info, err); err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o200 == 0 {
		return nil, fmt.Errorf("it is read-only (%s); use chmod in bash first if it has to change", info.Mode().Perm())
	}
	return info, nil
}

// repositoryWith returns the folder that git takes for a repository, or would once the file is there, and of which the
// file is a part; "" if there is none.
func repositoryWith(root *os.Root, name string) string {
	parts := strings.Split(filepath.ToSlash(name), "/")
	for i, part := range parts {
		if !slices.Contains([]string{"HEAD", "config", "config.worktree", "commondir", "hooks", "objects", "refs"}, part) {
			continue
		}
		dir := filepath.Join(parts[:i]...)
		there := func(name string) bool {
			_, err := root.Stat(filepath.Join(dir, name))
			return name == part || err == nil
		}
		if there("HEAD") && (there("objects") && there("refs") || there("commondir")) {
			return cmp.Or(filepath.ToSlash(dir), ".")
		}
	}
	return ""
}

// put writes a file atomically, also across a crash. replaced is the file that it replaces, whose mode
// it keeps; nil if there is none.
func put(root *os.Root, name string, data []byte, replaced fs.FileInfo) (err error) {
	dir := filepath.Dir(name)
	if replaced == nil {
		if err := root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	beside := filepath.Join(dir, ".tape-"+strings.ToLower(rand.Text()[:12])+".tmp")
	file, err := root.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(beside)
		}
	}()
	_, err = file.Write(data)
	if err == nil && replaced != nil {
		err = file.Chmod(replaced.Mode().Perm())
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return root.Rename(beside, name)
}

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
	All  bool   `json:"all"`
}

func (f *files) edit(_ context.Context, _ hooks.ToolContext, a editArgs) (string, error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	root, name, err := f.open(a.Path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	n, line, err := a.applyTo(root, name)
	if err != nil {
		return "", fmt.Errorf("edit %s: %w", clip(a.Path, 200), err)
	}
	if n > 1 {
		return fmt.Sprintf("edited: %s (%d places, the first at line %d)", a.Path, n, line), nil
	}
	return fmt.Sprintf("edited: %s (at line %d)", a.Path, line), nil
}

// applyTo replaces the text in a file. n is the number of places, line the number of the line with the first.
func (a editArgs) applyTo(root *os.Root, name string) (n, line int, err error) {
	content, info, err := editable(root, name)
	if err != nil {
		return 0, 0, err
	}
	next, n, line, err := a.apply(content)
	if err != nil {
		return 0, 0, err
	}
	return n, line, put(root, name, next, info)
}

// editable returns the content of a file, and an error if the file cannot be edited.
func editable(root *os.Root, name string) ([]byte, fs.FileInfo, error) {
	file, info, err := regular(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w; fs.write creates files", err)
	}
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info.Size() > maxEdited {
		return nil, nil, fmt.Errorf("it has %d MiB; fs.edit takes files up to %d MiB, use sed in bash", info.Size()>>20, maxEdited>>20)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxEdited))
	if err != nil {
		return nil, nil, err
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return nil, nil, errors.New("it is not UTF-8 text: it has NUL bytes; bash has programs for it")
	}
	_, err = writable(root, name)
	return content, info, err
}

// apply replaces the text in a file's content. n is the number of places, line the number of the line with the first.
func (a editArgs) apply(content []byte) (next []byte, n, line int, err error) {
	from, to := a.matching(content)
	if bytes.Equal(from, to) {
		return nil, 0, 0, errors.New("old and new are the same")
	}
	n = bytes.Count(content, from)
	if n == 0 {
		return nil, 0, 0, errors.New("old is not in the file; read it again, and copy the text exactly, with its white space and without line numbers")
	}
	if n > 1 && !a.All {
		return nil, 0, 0, fmt.Errorf("old is in the file %d times; add lines around it that make it unique, or replace all with all=true", n)
	}
	line = 1 + bytes.Count(content[:bytes.Index(content, from)], []byte("\n"))
	return bytes.ReplaceAll(content, from, to), n, line, nil
}

// matching returns old and new with the line ends that most lines of the file have: a model does not see CR LF.
func (a editArgs) matching(content []byte) (from, to []byte) {
	from, to = []byte(a.Old), []byte(a.New)
	crlf := bytes.Count(content, []byte("\r\n"))
	if 2*crlf <= bytes.Count(content, []byte("\n")) {
		return from, to
	}
	if !bytes.Contains(content, from) {
		from = withCRLF(from)
	}
	return from, withCRLF(to)
}

func withCRLF(b []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
}
