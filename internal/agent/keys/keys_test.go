package keys_test

import (
	"slices"
	"testing"

	"tape/internal/agent/keys"
)

func TestCleanEnv(t *testing.T) {
	long := "key-of-a-provider"
	kept := []string{"PATH=/nix/store/ab12cd34ef56gh78ij90kl12mn34op56-secret-tool-1.2/bin:/usr/bin", "HOME=/home/me", "SSH_AUTH_SOCK=/run/agent", "MAX_TOKENS=5",
		"LS_COLORS=rs=0:di=01;34:ln=01;36", "PLACEHOLDER=lm-studio", "NPM_TOKEN=named", "EMPTY="}
	environ := append([]string{"GITHUB_TOKEN=x", "AWS_SESSION_TOKEN=x", "NOTE=" + long, "DATABASE_URL=mysql://u:p@h/d", "openai_api_key=x"}, kept...)
	if got := keys.CleanEnv(environ, []string{"NPM_TOKEN"}, long, "lm-studio", ""); !slices.Equal(got, kept) {
		t.Errorf("kept %q\nwant %q", got, kept)
	}
	git := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=Me"}
	if got := keys.CleanEnv(git, nil); !slices.Equal(got, git) {
		t.Errorf("git's settings without secrets are not kept: %q", got)
	}
	git[2] = "GIT_CONFIG_VALUE_0=https://me:pw@host/"
	if got := keys.CleanEnv(append(git, "A=b"), nil); !slices.Equal(got, []string{"A=b"}) {
		t.Errorf("git's settings with a password are not all removed: %q", got)
	}
}
