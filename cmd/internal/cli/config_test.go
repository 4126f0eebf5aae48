package cli

import "testing"

// The list of what is no secret is replaced as a whole, and may be empty; nothing else may.
func TestConfigList(t *testing.T) {
	w := newWorkspace(t)
	for _, c := range []struct {
		args []string
		out  string
		code int
	}{
		{[]string{"config", "allow_secret", "fedcba9876543210 0123456789abcdef"}, "", exitOK},
		{[]string{"config", "allow_secret"}, "0123456789abcdef,fedcba9876543210\n", exitOK},
		{[]string{"config", "allow_secret", "00112233445566"}, "", exitUsage},
		{[]string{"config", "allow_secret", "0011223344556677"}, "", exitOK},
		{[]string{"config", "allow_secret"}, "0011223344556677\n", exitOK},
		{[]string{"config", "allow_secret", ""}, "", exitOK},
		{[]string{"config", "allow_secret"}, "\n", exitOK},
		{[]string{"config", "commit", ""}, "", exitUsage},
		{[]string{"config", "allow_secret", "", ""}, "", exitUsage},
	} {
		if out, errs, code := w.run("", c.args...); out != c.out || code != c.code {
			t.Errorf("tape %q: exit %d, %q %q", c.args, code, out, errs)
		}
	}
}
