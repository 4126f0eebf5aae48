package cli

import (
	"context"
	"strings"

	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// askFormer asks about settings of a former version that run or send something, right after they
// were moved. If it cannot ask, it says how to decide.
func (a *App) askFormer(ctx context.Context, store *repo.Store) error {
	s := (*workspace.Store)(store)
	switch {
	case a.takesOver || len(s.Moved()) == 0:
		return nil
	case a.JSON || a.Quiet || !a.CanAsk():
		a.tellFormer(store)
		return nil
	}
	a.toldFormer = true
	list := s.Former()
	a.Message("warning", formerNotice(list))
	for _, f := range list {
		a.Message("note", f.Key+"="+f.Value)
	}
	if err := a.Confirm(ctx, "Take them over as your own settings for this workspace?"); err != nil {
		a.Message("note", "they stay unused; "+howToTakeOver)
		return ctx.Err() // the command itself goes on
	}
	return s.TakeOver(list)
}

const howToTakeOver = "tape config --take-over shows them and takes them over"

func formerNotice(list []workspace.FormerSetting) string {
	names := namesOf(list, func(f workspace.FormerSetting) string { return f.Key })
	return "settings of a former version that run programs or send something are not in use: " + strings.Join(names, ", ")
}

// tellFormer warns, in commands that would use them, of settings that are not in use.
func (a *App) tellFormer(store *repo.Store) {
	if list := (*workspace.Store)(store).Former(); len(list) > 0 && !a.toldFormer {
		a.toldFormer = true
		a.Warn(formerNotice(list) + "; " + howToTakeOver)
	}
}

func (o *configOptions) runTakeOver(ctx context.Context) error {
	o.app.takesOver = true
	store, err := o.app.openStore(ctx)
	if err != nil {
		return err
	}
	s := (*workspace.Store)(store)
	list := s.Former()
	if len(list) == 0 {
		return o.app.Result(object{{"taken", []string{}}}, "there is nothing to take over")
	}
	var keys []string
	for _, f := range list {
		keys = append(keys, f.Key)
		if !o.app.JSON {
			o.app.Printf("%s=%s\n", f.Key, display.Line(f.Value))
		}
	}
	if !o.yes {
		if !o.app.CanAsk() {
			return layout.Invalid("tape config --take-over --yes takes them over without asking", "these settings run programs or send something, and there is no terminal to ask on: %s", strings.Join(keys, ", "))
		}
		if err := o.app.Flush(); err != nil {
			return err
		}
		if err := o.app.Confirm(ctx, "Take them over as your own settings for this workspace?"); err != nil {
			return err
		}
	}
	if err := s.TakeOver(list); err != nil {
		return err
	}
	return o.app.Result(object{{"taken", keys}}, "taken over; they are your settings for this workspace now")
}
