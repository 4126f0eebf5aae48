package cli

import "testing"

// config replaces allow_secret as a whole, also with nothing. Other settings must not be empty.
func TestConfigAllowSecret(t *testing.T) {
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
			t.Errorf("tape %q: exit %d, want %d; wrote %q, want %q\n%s", c.args, code, c.code, out, c.out, errs)
		}
	}
}
