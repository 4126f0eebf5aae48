package hostcli

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"

	"tape/internal/store/layout"
)

// listen listens on a TCP address and, if socket is not empty, on a unix socket. Unless others is set, the address has
// to be one that only this machine reaches.
func listen(ctx context.Context, address, socket string, others bool) (out []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, l := range out {
				_ = l.Close()
			}
		}
	}()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, layout.Invalid("give an address such as 127.0.0.1:0", "cannot listen on %s: %v", address, err)
	}
	out = append(out, l)
	if a, ok := l.Addr().(*net.TCPAddr); !others && (!ok || !a.IP.IsLoopback()) {
		return out, layout.Invalid("give one of this machine, such as 127.0.0.1:0, or name the proxies that may reach it: --trusted-proxy", "%s can be reached from other machines", address)
	}
	if socket == "" {
		return out, nil
	}
	if l, err = listenSocket(ctx, socket); err == nil {
		out = append(out, l)
	}
	return out, err
}

// listenSocket makes a socket that only its owner can use: it is made in a private folder, and then moved.
func listenSocket(ctx context.Context, path string) (net.Listener, error) {
	var d net.Dialer
	if c, err := d.DialContext(ctx, "unix", path); err == nil {
		_ = c.Close()
		return nil, layout.Conflict("stop it, or use another path", "another server listens on %s", path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket == 0 {
		return nil, layout.Conflict("use another path", "%s exists and is not a socket", path)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".s")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tmp := filepath.Join(dir, "s")
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", tmp)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err = os.Chmod(tmp, 0o600); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
