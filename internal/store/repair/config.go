package repair

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"tape/internal/git/gitconfig"
	"tape/internal/store/layout"
)

// maxConfig is more than any configuration of a workspace has.
const maxConfig = 64 << 10

// config writes git's configuration again if git cannot read it: what a new workspace has, and the lines that can be read.
func (g *gitMender) config(context.Context) error {
	path := g.git.Config().Path()
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && gitconfig.Damage(raw) == nil {
		return g.notBare()
	}
	text := []byte(gitconfig.Initial())
	for line := range bytes.Lines(raw) {
		if len(text) > maxConfig || bytes.ContainsRune(line, 0) {
			continue
		}
		next := append(slices.Clip(text), append(bytes.TrimRight(line, "\r\n"), '\n')...)
		if gitconfig.Damage(next) == nil {
			text = next
		}
	}
	if err := g.files.Replace(path, text); err != nil {
		return err
	}
	g.say("%s could not be read: it was made again, with the lines that can be read", path)
	return nil
}

// notBare takes back that a workspace with files is bare, which other programs set when they add worktrees to it: git and
// tape then find no files in it.
func (g *gitMender) notBare() error {
	if _, ok := g.git.MainDir(); ok || len(namesIn(g.s.Dir(), layout.AnchorsDir)) == 0 {
		return nil
	}
	branch, _, err := g.git.Head(g.git.GitDir())
	if err != nil {
		return nil //nolint:nilerr // it is mended next; until then nothing is known about the files
	}
	if admins, err := g.git.AdminsOf(branch); err != nil || len(admins) > 0 {
		return err // the tape has gone on in a working tree of its own
	}
	raw, err := os.ReadFile(g.git.Config().Path())
	if err != nil {
		return err
	}
	before, err := gitconfig.Entries(raw)
	if err != nil || slices.ContainsFunc(before, func(e gitconfig.Entry) bool { return e.Key == "bare" && e.Section != "core" }) {
		return err // an alias, for example, may have this name, too
	}
	var text []byte
	for line := range bytes.Lines(raw) {
		if key, _, _ := bytes.Cut(line, []byte("=")); bytes.EqualFold(bytes.TrimSpace(key), []byte("bare")) {
			line = []byte("\tbare = false\n")
		}
		text = append(text, line...)
	}
	if entries, err := gitconfig.Entries(text); err != nil || bytes.Equal(text, raw) || len(entries) == 0 {
		return err // it is set in an unusual way, perhaps in another file
	}
	if err := g.files.Replace(g.git.Config().Path(), text); err != nil {
		return err
	}
	g.git.NotBare()
	g.say("%s said that the workspace is bare, although it has files: it no longer does", g.git.Config().Path())
	return nil
}
