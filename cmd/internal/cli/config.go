package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/internal/store/workspace"
	"tape/repo"
)

type configOptions struct {
	app    *App
	global bool
}

func newConfigCmd(a *App) *cobra.Command {
	o := &configOptions{app: a}
	cmd := &cobra.Command{
		Use:   "config [--global] [KEY [VALUE]]",
		Short: "Show or change settings",
		Long: `Show all settings, show one, or change one.

These settings describe the data of this workspace, and are in its .git/tape/config.json:

  tape          the current tape
  commit        when entries are committed: only at a handoff (handoff), also before each
                user message (turn), or also after every N entries (N)
  max_line      the longest entry line that is accepted, in bytes
  redact        what happens to secrets in new entries: off (nothing), mark (they are listed in
                the entry's meta) or mask (they are replaced before anything is written)
  allow_secret  comma-separated fingerprints of false positives: texts that look like a secret;
                push --allow-secret adds one, config replaces the list, and '' clears it

The others run programs, say where something is sent, or are prices. They are yours: nothing in a
repository sets them. Those for this workspace are in $TAPE_HOME/settings. Those for all workspaces, which
--global shows and changes, are in $TAPE_HOME/config.json. A setting for this workspace takes
precedence; '' removes one.

  model            the model, as PROVIDER:MODEL; $TAPE_MODEL overrides it
  fallback_models  comma-separated models to try when that one fails
  summary_model    the model that summarizes a context that is too long (default: the turn's)
  base_urls        the addresses of providers' APIs, a JSON object of URLs by provider
  apis             the API that a provider has: chat (the default), responses or messages
                   (anthropic's default), a JSON object by provider
  headers, query   more headers, and parameters in the address, of requests to a provider: JSON
                   objects by provider; ${NAME} in a value is the variable NAME
  max_tokens       how many tokens an answer may have at most (default: what the model can give)
  silence          how long a server may send nothing, such as 20m (default: 5m)
  stream           whether answers come piece by piece: true (the default) or false
  sign             whether commits get the signatures for which git is configured: auto (without
                   one if it does not come within 2 seconds, on a terminal 30), always (30
                   seconds, then nothing is committed) or never
  sandbox          where the agent's commands may write: auto (in the project only, where that can
                   be enforced), on (elsewhere they are refused) or off
  max_steps        the greatest number of model calls in a turn
  auto_handoffs    how often a turn begins a new context because it was too long (default: 3)
  web_private      whether web.fetch may read addresses of this machine and its local network:
                   true or false (the default)
  mode             what the agent may do: ask (the default), plan or auto, see tape run;
                   $TAPE_MODE and --mode override it
  allow, deny, ask rules: JSON lists such as ["bash(go test)", "fs.write(docs/**)"]; deny wins
                   over ask, and ask over allow; they add to those for all workspaces
  plugins          programs that are plugins, a JSON list
  mcp_servers      MCP servers whose tools the agent may use, a JSON object by name
  telegram         the Telegram channel, a JSON object
  prices           what models cost, in dollars per million tokens: a JSON object by the name of
                   a model or its beginning, each with input, output, cache_read, cache_write,
                   cache_write_1h; tape stats uses it before its own table
  publish          the branch to which each tape push publishes pages, see tape publish

Keys are not settings: put them into the environment or $TAPE_HOME/credentials.json.`,
		Example: `  tape config
  tape config commit turn
  tape config allow_secret ''
  tape config model openai:gpt-4.1
  tape config --global base_urls '{"openai":"http://localhost:11434/v1"}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && args[1] == "" && mayBeEmpty(args[0]) {
				return nil
			}
			return takes(0, "KEY", "VALUE")(cmd, args)
		},
		ValidArgsFunction: upTo(1, completeWords(repo.ConfigKeys()...)),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&o.global, "global", false, "the settings for all workspaces")
	return cmd
}

// mayBeEmpty reports whether a setting may be empty: lists, and optional settings.
func mayBeEmpty(key string) bool {
	switch key {
	case "tape", "commit", "max_line", "redact":
		return false
	}
	return true
}

func (o *configOptions) run(ctx context.Context, args []string) error {
	if o.global {
		return o.show(args, workspace.GlobalKeys(), func(key string) (string, bool, error) {
			value, err := workspace.GlobalSetting(key)
			return value, true, err
		}, func(key, value string) error {
			if _, err := workspace.ResolvePrograms(key, value, ""); err != nil {
				return err
			}
			return workspace.SetGlobalSetting(key, value)
		})
	}
	store, err := o.app.openStore(ctx)
	if err != nil {
		return err
	}
	return o.show(args, repo.ConfigKeys(), (*workspace.Store)(store).SettingFrom, func(key, value string) error {
		return setSetting(ctx, store, key, value)
	})
}

// show shows settings. If a value is given, it sets that, and shows it only as JSON.
func (o *configOptions) show(args, keys []string, get func(key string) (value string, global bool, err error), set func(key, value string) error) error {
	if len(args) > 0 {
		keys = args[:1]
	}
	if len(args) > 1 {
		if err := set(args[0], args[1]); err != nil || !o.app.JSON {
			return err
		}
	}
	for _, key := range keys {
		value, global, err := get(key)
		if err != nil {
			return err
		}
		switch {
		case len(args) == 0 && value == "" && mayBeEmpty(key) && key != "allow_secret":
			// Optional settings that are not set are not listed, except allow_secret, which always was.
		case o.app.JSON:
			err = o.app.Emit(object{{"key", key}, {"value", value}, {"global", global}})
		case len(args) > 0:
			o.app.Line(display.Line(value))
		case global && !o.global:
			o.app.Printf("%s=%s  (global)\n", key, display.Line(value))
		default:
			o.app.Printf("%s=%s\n", key, display.Line(value))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setSetting changes a setting. To change the setting tape switches to that tape, which must exist.
func setSetting(ctx context.Context, store *repo.Store, key, value string) error {
	if key == "tape" && value != "" {
		_, err := store.Switch(ctx, value)
		return err
	}
	folder, err := os.Getwd()
	if err == nil {
		value, err = workspace.ResolvePrograms(key, value, workspace.ProjectRoot(store.Dir(), folder))
	}
	if err != nil {
		return err
	}
	return store.SetSetting(key, value)
}
