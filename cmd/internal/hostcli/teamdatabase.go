package hostcli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"tape/cmd/internal/hostcmd"
	"tape/cmd/internal/stdio"
	"tape/internal/serve/team/config"
	"tape/internal/serve/team/db"
	"tape/internal/serve/team/sync"
	"tape/internal/show/display"
	"tape/internal/store/layout"
)

// openDatabase reads team.toml, connects to the database, and calls begin, which prepares the database or checks its schema.
// Before it connects, it calls check, if set, which may refuse the arguments of the command.
func openDatabase(ctx context.Context, o hostcmd.TeamOptions, check func(*config.Config) error,
	begin func(*db.DB, context.Context) error) (*config.Config, *db.DB, error) {
	c, err := config.Load(config.FileName(o.Config, o.Getenv), o.Getenv)
	if err == nil && check != nil {
		err = check(c)
	}
	if err != nil {
		return nil, nil, err
	}
	d, err := db.Open(ctx, c.Database)
	if err != nil {
		return nil, nil, err
	}
	if err := begin(d, ctx); err != nil {
		d.Close()
		return nil, nil, err
	}
	return c, d, nil
}

// prepareTables returns a function that creates the tables, or those of an older version again, and says so.
func prepareTables(o hostcmd.TeamOptions) func(*db.DB, context.Context) error {
	return func(d *db.DB, ctx context.Context) error {
		note, err := d.Prepare(ctx)
		if err == nil && note != "" {
			o.StderrUnlessQuiet("%s", note)
		}
		return err
	}
}

// TeamSync brings the team's database up to date with the named remotes, or all if there are none. If watch is
// positive, it does so again and again, with this pause, until ctx ends.
func (Host) TeamSync(ctx context.Context, o hostcmd.TeamOptions, remotes []string, watch time.Duration) error {
	c, d, err := openDatabase(ctx, o, func(c *config.Config) error {
		_, err := c.Named(remotes)
		return err
	}, prepareTables(o))
	if err != nil {
		return err
	}
	defer d.Close()
	if len(remotes) == 0 {
		gone, err := d.DropRemotes(ctx, namesOfRemotes(c))
		if err != nil {
			return err
		}
		for _, name := range gone {
			o.StderrUnlessQuiet("%s is no longer in team.toml: its entries are removed from the database", name)
		}
	}
	failed := []string{}
	var last error
	show := func(r sync.Result) {
		if r.Err != nil && !errors.Is(r.Err, context.Canceled) {
			failed, last = append(failed, r.Remote), r.Err
		}
		showSync(o.Streams, r, watch > 0)
	}
	with := sync.Options{Config: c, DB: d, Remotes: remotes, Wait: watch == 0, Now: o.Now, Log: slog.New(slog.NewTextHandler(o.Stderr, nil))}
	if watch > 0 {
		return sync.Watch(ctx, with, watch, show)
	}
	if err := sync.Once(ctx, with, show); err != nil {
		return err
	}
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("read %s: %w", failed[0], last)
	}
	return fmt.Errorf("these remotes could not be read: %s", strings.Join(failed, ", "))
}

func namesOfRemotes(c *config.Config) (out []string) {
	for _, r := range c.Remotes {
		out = append(out, r.Name)
	}
	return out
}

// showSync shows what was done for a remote. While watching, it shows only changes and failures. Otherwise a failure
// is shown only as JSON, because TeamSync returns it.
func showSync(s *stdio.Streams, r sync.Result, watching bool) {
	if r.Busy || watching && r.Err == nil && r.Tapes == 0 {
		return
	}
	if s.JSON {
		var failure any
		if r.Err != nil {
			failure = r.Err.Error()
		}
		_ = s.Emit(stdio.Object{{"remote", r.Remote}, {"tapes", r.Tapes}, {"entries", r.Entries}, {"removed", r.Removed},
			{"seconds", float64(r.Took.Milliseconds()) / 1000}, {"error", failure}})
	} else if r.Err != nil && watching {
		s.Warn(r.Remote + ": " + r.Err.Error())
	} else if r.Err == nil {
		text := fmt.Sprintf("%s: %s, %s added", r.Remote, display.Count(r.Tapes, "tape changed", "tapes changed"), display.Entries(r.Entries))
		if r.Removed > 0 {
			text += fmt.Sprintf(", %d removed", r.Removed)
		}
		s.PrintUnlessQuiet("%s", text)
	}
	_ = s.Flush()
}

// TeamStatus shows for each remote when it was last read, and what failed.
func (Host) TeamStatus(ctx context.Context, o hostcmd.TeamOptions) error {
	c, d, err := openDatabase(ctx, o, nil, (*db.DB).Use)
	if err != nil {
		return err
	}
	defer d.Close()
	all, err := d.Status(ctx)
	if err != nil {
		return err
	}
	for _, name := range namesOfRemotes(c) {
		if !slices.ContainsFunc(all, func(r db.RemoteStatus) bool { return r.Remote == name }) {
			all = append(all, db.RemoteStatus{Remote: name, Error: "not read yet: tape team sync reads it"})
		}
	}
	lag := func(r db.RemoteStatus) any {
		if r.Synced == nil {
			return nil
		}
		return float64(o.Now().Sub(*r.Synced).Milliseconds()) / 1000
	}
	return stdio.Listing[db.RemoteStatus]{Head: []string{"REMOTE", "LAST SYNC", "LAG", ">TAPES", ">ENTRIES", "ERROR"}, None: "No remotes.",
		Object: func(r db.RemoteStatus) stdio.Object {
			return stdio.Object{{"remote", r.Remote}, {"last_sync", dateOf(r.Tried)}, {"lag", lag(r)}, {"tapes", r.Tapes}, {"entries", r.Entries}, {"error", stdio.OrNull(r.Error)}}
		},
		Row: func(r db.RemoteStatus, add func(cells ...any)) {
			last, behind := "never", "-"
			if r.Tried != nil {
				last = display.Ago(o.Now(), r.Tried.Format(time.RFC3339), display.Minute)
			}
			if r.Synced != nil {
				behind = o.Now().Sub(*r.Synced).Round(time.Second).String()
			}
			add(r.Remote, last, behind, r.Tapes, r.Entries, r.Error)
		}}.Show(o.Streams, all, nil)
}

func dateOf(t *time.Time) any {
	if t == nil {
		return nil
	}
	return stdio.DateOrNull(*t)
}

// TeamTokenAdd makes a token and shows it.
func (Host) TeamTokenAdd(ctx context.Context, o hostcmd.TeamOptions, name string, groups []string, expires string) error {
	if !config.GoodName(strings.NewReplacer("@", "", "+", "").Replace(name)) {
		return layout.Invalid("a name has letters, digits, dots, dashes, underscores and @, at most 64", "%q is not a name for a token", name)
	}
	lasts, err := stdio.ReadDuration(expires)
	if err != nil {
		return layout.Wrap(err, "--expires")
	}
	c, d, err := openDatabase(ctx, o, func(c *config.Config) error {
		if len(groups) == 0 {
			return layout.Invalid("the groups in team.toml: "+strings.Join(c.Groups(), ", "), "--groups is missing: the token would give access to nothing")
		}
		for _, g := range groups {
			if !slices.Contains(c.Groups(), g) {
				return layout.Invalid("the groups in team.toml: "+strings.Join(c.Groups(), ", "), "no remote has the group %q", g)
			}
		}
		return nil
	}, prepareTables(o))
	if err != nil {
		return err
	}
	defer d.Close()
	now := o.Now()
	token, err := d.AddToken(ctx, name, groups, now, now.Add(lasts))
	if err != nil {
		return err
	}
	if err := o.Result(stdio.Object{{"token", token}, {"name", name}, {"expires", stdio.DateOrNull(now.Add(lasts))}}, "%s", token); err != nil || o.JSON {
		return err
	}
	if err := o.Flush(); err != nil {
		return err
	}
	o.StderrUnlessQuiet("it is valid until %s, and is not shown again; %s runs: tape login %s --token-stdin", now.Add(lasts).Format("2006-01-02 15:04"), name, c.URL)
	return nil
}

// TeamTokens lists all tokens.
func (Host) TeamTokens(ctx context.Context, o hostcmd.TeamOptions) error {
	_, d, err := openDatabase(ctx, o, nil, (*db.DB).Use)
	if err != nil {
		return err
	}
	defer d.Close()
	all, err := d.Tokens(ctx)
	if err != nil {
		return err
	}
	now := o.Now()
	state := func(t db.Token) string {
		switch {
		case t.Revoked != nil:
			return "revoked"
		case !t.Valid(now):
			return "expired"
		}
		return "valid"
	}
	return stdio.Listing[db.Token]{Head: []string{"NAME", "GROUPS", "STATE", "EXPIRES", "USED"}, None: "No tokens.",
		Object: func(t db.Token) stdio.Object {
			return stdio.Object{{"name", t.Name}, {"groups", t.Groups}, {"state", state(t)}, {"created", stdio.DateOrNull(t.Created)}, {"expires", stdio.DateOrNull(t.Expires)},
				{"revoked", dateOf(t.Revoked)}, {"used", dateOf(t.Used)}}
		},
		Row: func(t db.Token, add func(cells ...any)) {
			used := "never"
			if t.Used != nil {
				used = display.Ago(now, t.Used.Format(time.RFC3339), display.Minute)
			}
			add(t.Name, strings.Join(t.Groups, ","), state(t), t.Expires.Format("2006-01-02 15:04"), used)
		}}.Show(o.Streams, all, nil)
}

// TeamTokenRevoke revokes a token.
func (Host) TeamTokenRevoke(ctx context.Context, o hostcmd.TeamOptions, name string) error {
	_, d, err := openDatabase(ctx, o, nil, (*db.DB).Use)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Revoke(ctx, name, o.Now()); err != nil {
		return err
	}
	return o.Result(stdio.Object{{"name", name}, {"revoked", true}}, "the token %s is revoked", name)
}
