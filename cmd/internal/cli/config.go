package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"tape/internal/display"
	"tape/internal/workspace"
	"tape/repo"
)

func newConfigCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "config [KEY [VALUE]]",
		Short: "Show or change the workspace's settings",
		Long: `Show all settings, show one, or change one.

  tape          the current tape
  commit        when entries are committed: with a handoff only (handoff), also before each
                message of the user (turn), or also after each N entries (N)
  max_line      the longest entry line that is accepted, in bytes
  redact        what is done with secrets in new entries: off, mark (listed in the entry's
                meta) or mask (replaced before anything is written)
  allow_secret  fingerprints, with commas between them, of what looks like a secret and is none;
                push --allow-secret adds one, config replaces the list, and '' empties it

Those of the agent (tape run, tape chat, tape gateway); '' takes one away:

  model            the model, as PROVIDER:MODEL; $TAPE_MODEL wins
  fallback_models  models to ask when that one fails, with commas between them
  base_urls        where a provider's API is, as a JSON object of URLs by provider
  max_steps        how many calls of a model a turn may have
  web_private      whether web.fetch may read addresses of this machine and its local network:
                   true or false (the default)
  plugins          programs that are plugins, a JSON list
  mcp_servers      MCP servers whose tools the agent may use, a JSON object by name
  telegram         the Telegram channel, a JSON object

Keys are no settings: they stand in the environment or in $TAPE_HOME/credentials.json.`,
		Example: `  tape config
  tape config commit turn
  tape config allow_secret ''
  tape config model openai:gpt-4.1
  tape config base_urls '{"openai":"http://localhost:11434/v1"}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && args[1] == "" && mayBeEmpty(args[0]) {
				return nil
			}
			return takes(0, "KEY", "VALUE")(cmd, args)
		},
		ValidArgsFunction: upTo(1, completeWords(repo.ConfigKeys()...)),
		RunE:              a.inStore(a.runConfig),
	}
}

// mayBeEmpty is for lists, and for what need not be set.
func mayBeEmpty(key string) bool {
	switch key {
	case "tape", "commit", "max_line", "redact":
		return false
	}
	return true
}

func (a *App) runConfig(ctx context.Context, store *repo.Store, args []string) error {
	keys := repo.ConfigKeys()
	if len(args) > 0 {
		keys = args[:1]
	}
	if len(args) > 1 {
		if err := setSetting(ctx, store, args[0], args[1]); err != nil || !a.json {
			return err
		}
	}
	for _, key := range keys {
		value, err := store.Setting(key)
		if err != nil {
			return err
		}
		switch {
		case len(args) == 0 && value == "" && mayBeEmpty(key) && key != "allow_secret":
			// What is not set is not listed, but for what always was.
		case a.json:
			err = a.emit(object{{"key", key}, {"value", value}})
		case len(args) > 0:
			a.line(display.Line(value))
		default:
			a.printf("%s=%s\n", key, display.Line(value))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setSetting changes a setting; a tape has to exist to become the current one.
func setSetting(ctx context.Context, store *repo.Store, key, value string) error {
	if key == "tape" && value != "" {
		_, err := store.Switch(ctx, value)
		return err
	}
	folder, err := os.Getwd()
	if err == nil {
		err = workspace.CheckPrograms(key, value, workspace.ProjectRoot(store.Dir(), folder))
	}
	if err != nil {
		return err
	}
	return store.SetSetting(key, value)
}
