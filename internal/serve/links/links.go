// Package links keeps the links to single sessions of a workspace, for people who see nothing else of it. Only the
// hash of a link's code is stored.
package links

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/internal/git/disk"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// Path begins the addresses of links; their code follows.
const Path = "/s/"

// file is the name of the file with a workspace's links.
const file = "links.json"

// Link leads to a session until it expires or is revoked.
type Link struct {
	ID      int       `json:"id"`
	Tape    string    `json:"tape"`
	First   string    `json:"first"` // hash of the tape's first entry, which another tape with this name does not have
	Hash    string    `json:"hash"`  // of the code
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// list is the content of the file.
type list struct {
	Last  int    `json:"last"` // the newest id; ids are not used again
	Links []Link `json:"links"`
}

// hash returns the SHA-256 of a text in hexadecimal.
func hash(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// read reads a file of links. A missing file has none.
func read(path string) (l list, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &l)
	}
	return l, layout.Wrap(err, "links of the workspace")
}

// change lets f change the links of a workspace, under a lock. It drops expired links.
func change(ctx context.Context, s *repo.Store, now time.Time, f func(*list) error) error {
	unlock, err := (*workspace.Store)(s).LockPrivate(ctx, "links.lock")
	if err != nil {
		return err
	}
	path := s.UsersPath(file)
	l, err := read(path)
	if err == nil {
		l.Links = slices.DeleteFunc(l.Links, func(one Link) bool { return !now.Before(one.Expires) })
		err = f(&l)
	}
	if err == nil {
		var raw []byte
		d := disk.WithPermissionsOf(s.Dir())
		if raw, err = json.Marshal(l); err == nil {
			err = d.MkdirAll(filepath.Dir(path))
		}
		if err == nil {
			err = d.WriteFile(path, raw)
		}
	}
	return errors.Join(layout.Classify(err), unlock())
}

// Add makes a link to a tape, and returns its code, which is not stored.
func Add(ctx context.Context, s *repo.Store, t *repo.Tape, now, expires time.Time) (added Link, code string, err error) {
	first, err := firstOf(ctx, t)
	if err != nil {
		return added, "", err
	}
	b := make([]byte, 32)
	rand.Read(b)
	code = base64.RawURLEncoding.EncodeToString(b)
	err = change(ctx, s, now, func(l *list) error {
		l.Last++
		added = Link{ID: l.Last, Tape: t.Name(), First: first, Hash: hash([]byte(code)), Created: now.UTC(), Expires: expires.UTC()}
		l.Links = append(l.Links, added)
		return nil
	})
	return added, code, err
}

// firstOf returns the hash of a tape's first entry.
func firstOf(ctx context.Context, t *repo.Tape) (string, error) {
	for e, err := range t.Show(ctx, "@1") {
		return hash(e.Raw), err
	}
	return "", layout.NotFound("", "%q has no entries", t.Name())
}

// All returns the links of a workspace that have not expired, the oldest first.
func All(s *repo.Store, now time.Time) ([]Link, error) {
	l, err := read(s.UsersPath(file))
	return slices.DeleteFunc(l.Links, func(one Link) bool { return !now.Before(one.Expires) }), err
}

// Revoke ends a link at once, and returns it. Errors: ErrNotFound.
func Revoke(ctx context.Context, s *repo.Store, id int, now time.Time) (ended Link, err error) {
	err = change(ctx, s, now, func(l *list) error {
		i := slices.IndexFunc(l.Links, func(one Link) bool { return one.ID == id })
		if i < 0 {
			return layout.NotFound("", "there is no valid link with the number %d", id)
		}
		ended = l.Links[i]
		l.Links = slices.Delete(l.Links, i, i+1)
		return nil
	})
	return ended, err
}

// find returns the link with a code, if it has not expired.
func find(path, code string, now time.Time) (Link, bool) {
	l, err := read(path)
	if err != nil {
		return Link{}, false // the commands for links report the error
	}
	want := hash([]byte(code))
	i := slices.IndexFunc(l.Links, func(one Link) bool { return one.Hash == want && now.Before(one.Expires) })
	if i < 0 {
		return Link{}, false
	}
	return l.Links[i], true
}

// Open returns the tape that a code leads to, and a name for the link, such as "link 1 to main". With all, links of
// the user's other workspaces work, too. Errors: ErrNotFound if there is no such link or tape, or the link has
// expired.
func Open(ctx context.Context, store *repo.Store, all bool, code string, now time.Time) (t *repo.Tape, name string, err error) {
	link, ok := find(store.UsersPath(file), code, now)
	if !ok && all {
		dirs, _, _ := workspace.OwnWorkspaces() // if they cannot be listed, their links do not work
		for _, dir := range dirs {
			if link, ok = find(filepath.Join(dir, layout.GitDirName, layout.PrivateDir, file), code, now); !ok {
				continue
			}
			if store, err = repo.Open(ctx, dir, nil); err != nil {
				return nil, "", err
			}
			break
		}
	}
	if !ok {
		return nil, "", layout.NotFound("", "no such link")
	}
	name = fmt.Sprintf("link %d to %s", link.ID, link.Tape)
	if t, err = store.Tape(ctx, link.Tape); err != nil {
		return nil, name, err
	}
	if first, err := firstOf(ctx, t); err != nil || first != link.First {
		return nil, name, errors.Join(err, layout.NotFound("", "another session has the name %q now", link.Tape))
	}
	return t, name, nil
}

// addressFile has the public address of the server that was started last. Each workspace has such a file for its
// own server; the user's folder has one for the server of all workspaces.
const addressFile = "serve-address"

// SetAddress notes the public address of a server of one workspace, or, with all, of all workspaces.
func SetAddress(s *repo.Store, all bool, url string) error {
	paths := []string{s.UsersPath(addressFile)}
	if home, err := workspace.Home(); all && err == nil {
		paths = append(paths, filepath.Join(home, addressFile))
	}
	d := disk.WithPermissionsOf(s.Dir())
	for _, path := range paths {
		if err := errors.Join(d.MkdirAll(filepath.Dir(path)), d.WriteFile(path, []byte(url))); err != nil {
			return layout.Classify(err)
		}
	}
	return nil
}

// Address returns the public address of the server that shows a workspace: its own server, or that of all
// workspaces, whichever was started last. It returns "" if there was none.
func Address(s *repo.Store) string {
	paths := []string{s.UsersPath(addressFile)}
	if home, err := workspace.Home(); err == nil {
		paths = append(paths, filepath.Join(home, addressFile))
	}
	url, newest := "", time.Time{}
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil || !st.ModTime().After(newest) {
			continue
		}
		if raw, err := os.ReadFile(path); err == nil {
			url, newest = strings.TrimSpace(string(raw)), st.ModTime()
		}
	}
	return url
}
