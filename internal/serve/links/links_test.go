package links_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tape/internal/serve/links"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// stores returns two workspaces of one user.
func stores(t *testing.T) (one, two *repo.Store) {
	home := t.TempDir()
	t.Setenv(repo.EnvHome, home)
	for name, into := range map[string]**repo.Store{"one": &one, "two": &two} {
		s, _, err := repo.Init(t.Context(), filepath.Join(home, name), nil)
		storetest.Must(t, err)
		*into = s
	}
	return one, two
}

// TestOpen: a code opens its tape until it expires, at the server of its workspace or of all workspaces.
func TestOpen(t *testing.T) {
	one, two := stores(t)
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	link, code, err := links.Add(t.Context(), one, storetest.Tape(t, one, "main"), now, now.Add(time.Hour))
	storetest.Must(t, err)
	for _, c := range []struct {
		store *repo.Store
		all   bool
		code  string
		later time.Duration
		want  bool
	}{{one, false, code, 0, true}, {two, true, code, 0, true}, {two, false, code, 0, false}, {one, true, code + "x", 0, false}, {one, true, "", 0, false},
		{one, true, link.Hash, 0, false}, {one, false, code, time.Hour - 1, true}, {one, false, code, time.Hour, false}} {
		tape, name, err := links.Open(t.Context(), c.store, c.all, c.code, now.Add(c.later))
		if c.want && (err != nil || tape.Name() != "main" || name != "link 1 to main") || !c.want && !errors.Is(err, repo.ErrNotFound) {
			t.Errorf("%+v: the link is %q (%v), want link 1 to main, or not found", c, name, err)
		}
	}
	storetest.Must(t, os.WriteFile(one.UsersPath("links.json"), []byte("{"), 0o600))
	if _, err := links.All(one, now); err == nil {
		t.Error("links of a damaged file are listed")
	}
	if _, _, err := links.Add(t.Context(), one, storetest.Tape(t, one, "main"), now, now.Add(time.Hour)); err == nil {
		t.Error("a damaged file is replaced")
	}
}

// TestAddress: of several servers, the one that was started last counts.
func TestAddress(t *testing.T) {
	one, two := stores(t)
	if got := links.Address(one); got != "" {
		t.Errorf("without a server, the address is %q", got)
	}
	storetest.Must(t, links.SetAddress(two, true, "http://all"))
	if got := links.Address(one); got != "http://all" {
		t.Errorf("the address is %q, want that of the server of all workspaces", got)
	}
	storetest.Must(t, os.Chtimes(filepath.Join(os.Getenv(repo.EnvHome), "serve-address"), time.Unix(1, 0), time.Unix(1, 0)))
	storetest.Must(t, links.SetAddress(one, false, "https://own/path"))
	if got := links.Address(one); got != "https://own/path" {
		t.Errorf("the address is %q, want that of the workspace's own server, which was started last", got)
	}
	if got := links.Address(two); got != "http://all" {
		t.Errorf("the address of the other workspace is %q, want that of the server of all workspaces", got)
	}
}
