package tools

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"tape/hooks"
)

// longestDiff is the size in bytes, of both versions of a file together, up to which a diff is made.
const longestDiff = 1 << 20

// preview says which command would run, and where.
func (s *shells) preview(_ context.Context, a bashArgs) (hooks.Preview, error) {
	p := hooks.Preview{Title: "run a command", Command: a.Cmd}
	if a.Background {
		p.Title += " in the background"
	}
	dir, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return p, fmt.Errorf("open the project: %w", err)
	}
	if real, err := filepath.EvalSymlinks(s.place(a.Cwd)); err == nil {
		p.Folder, err = filepath.Rel(dir, real)
		p.Outside = err != nil || !filepath.IsLocal(p.Folder)
		if p.Folder == "." {
			p.Folder = ""
		}
	} else {
		p.Outside = true // the call will fail, and say why
	}
	if a.Cwd != "" {
		p.Title += " in " + clip(a.Cwd, 300)
	}
	return p, nil
}

// preview says which host a page would be fetched from.
func (w *web) preview(_ context.Context, a fetchArgs) (hooks.Preview, error) {
	u, err := url.Parse(a.URL)
	if err == nil {
		err = w.allow(u)
	}
	if err != nil {
		return hooks.Preview{}, err
	}
	return hooks.Preview{Title: "fetch a page from " + u.Host, Host: strings.ToLower(u.Hostname())}, nil
}

// place opens the project, and returns the path's name in it and a preview that names the file.
func (f *files) place(path string) (root *os.Root, name string, p hooks.Preview, err error) {
	if root, name, err = f.open(path); err != nil {
		return nil, "", p, err
	}
	p.Path, p.Named = filepath.ToSlash(name), filepath.ToSlash(filepath.Clean(path))
	if rel, err := filepath.Rel(f.dir, path); err == nil && filepath.IsAbs(path) {
		p.Named = filepath.ToSlash(rel)
	}
	return root, name, p, nil
}

func (f *files) previewRead(_ context.Context, a readArgs) (hooks.Preview, error) {
	root, _, p, err := f.place(a.Path)
	if err != nil {
		return p, err
	}
	return p, root.Close()
}

func (f *files) previewWrite(_ context.Context, a writeArgs) (hooks.Preview, error) {
	root, name, p, err := f.place(a.Path)
	if err != nil {
		return p, err
	}
	defer root.Close()
	info, err := writable(root, name)
	if err != nil {
		return p, fmt.Errorf("write %s: %w", clip(a.Path, 200), err)
	}
	if info == nil {
		p.Title = fmt.Sprintf("create %s (%d bytes)", p.Path, len(a.Content))
		p.Diff = diff("/dev/null", p.Path, nil, []byte(a.Content))
		return p, nil
	}
	p.Title = fmt.Sprintf("replace %s (%d bytes, now %d)", p.Path, len(a.Content), info.Size())
	if old, _, err := editable(root, name); err == nil {
		if p.Diff = diff(p.Path, p.Path, old, []byte(a.Content)); p.Diff == "" && string(old) == a.Content {
			p.Title, p.Diff = "write "+p.Path+" again, as it is", " (nothing changes)\n"
		}
	}
	return p, nil
}

func (f *files) previewEdit(_ context.Context, a editArgs) (hooks.Preview, error) {
	root, name, p, err := f.place(a.Path)
	if err != nil {
		return p, err
	}
	defer root.Close()
	old, _, err := editable(root, name)
	var next []byte
	if err == nil {
		next, _, _, err = a.apply(old)
	}
	if err != nil {
		return p, fmt.Errorf("edit %s: %w", clip(a.Path, 200), err)
	}
	p.Title, p.Diff = "change "+p.Path, diff(p.Path, p.Path, old, next)
	return p, nil
}

// diff returns a unified diff; "" if the texts are too long, or the same.
func diff(from, to string, old, next []byte) string {
	if len(old)+len(next) > longestDiff {
		return ""
	}
	return udiff.Unified(from, to, toText(old), toText(next))
}
