//! What must be refused. Each script says DID-IT if it got its way.

pub struct Action {
    pub name: &'static str,
    pub script: &'static str,
    /// Programs it needs; without them it is skipped by name.
    pub needs: &'static [&'static str],
}

const fn action(name: &'static str, script: &'static str) -> Action {
    Action { name, script, needs: &[] }
}

const fn python(name: &'static str, script: &'static str) -> Action {
    Action { name, script, needs: &["/usr/bin/python3"] }
}

pub const FILES: &[Action] = &[
    action("write a new file outside", "echo x > $OUT/new && echo DID-IT"),
    action("append to a file outside", "echo x >> $OUT/victim && echo DID-IT"),
    action("write beside the root", "echo x > $HOME/other && echo DID-IT; rm -f $HOME/other"),
    action("write through a link", "ln -s $OUT/victim src/l && echo x > src/l && echo DID-IT"),
    action(
        "write through a linked folder",
        "ln -s $OUT src/d && echo x > src/d/new && echo DID-IT",
    ),
    action("write by way of ..", "echo x > $ROOT/../../outside/new && echo DID-IT"),
    action("write by way of /proc", "echo x > /proc/self/root/$OUT/new && echo DID-IT"),
    action("hard link to a file outside", "ln $OUT/victim src/h && echo x >> src/h && echo DID-IT"),
    python(
        "rename out",
        "echo x > src/a; /usr/bin/python3 -c 'import os; os.rename(\"src/a\", os.environ[\"OUT\"] + \"/a\")' && echo DID-IT",
    ),
    python(
        "rename in",
        "/usr/bin/python3 -c 'import os; os.rename(os.environ[\"OUT\"] + \"/victim\", \"src/a\")' && echo DID-IT",
    ),
    python(
        "truncate outside",
        "/usr/bin/python3 -c 'import os; os.truncate(os.environ[\"OUT\"] + \"/victim\", 0)' && echo DID-IT",
    ),
    action("remove outside", "rm -f $OUT/victim && [ ! -e $OUT/victim ] && echo DID-IT"),
    action("make a folder outside", "mkdir $OUT/d && echo DID-IT"),
    action("make a pipe outside", "mkfifo $OUT/p && echo DID-IT"),
    action("make a link outside", "ln -s /etc $OUT/l && echo DID-IT"),
    action(
        "write in the session's folder",
        "echo x > $SESSION/new && echo DID-IT; rm -f $SESSION/new",
    ),
    action("read a key", "cat $HOME/.ssh/id >/dev/null && echo DID-IT"),
    action("read our own state", "cat $HOME/.ostler/state >/dev/null && echo DID-IT"),
    action("read something else at home", "cat $HOME/notes >/dev/null && echo DID-IT"),
    action(
        "list the home",
        "ls $HOME >/dev/null && [ \"$(ls -A $HOME | grep -c notes)\" = 1 ] && echo DID-IT",
    ),
    action(
        "read a key through a link",
        "ln -s $HOME/.ssh/id src/k && cat src/k >/dev/null && echo DID-IT",
    ),
    action("read what is hidden in the root", "cat keys/secret >/dev/null && echo DID-IT"),
    action("write what is hidden in the root", "echo content > keys/secret && echo DID-IT"),
    action("list the session's folder", "ls $SESSION >/dev/null && echo DID-IT"),
];

pub const PROCESSES: &[Action] = &[
    action(
        "read the harness's environment",
        "head -c 1 /proc/$HARNESS/environ | grep -q . && echo DID-IT",
    ),
    action(
        "read the harness's memory map",
        "head -c 1 /proc/$HARNESS/maps | grep -q . && echo DID-IT",
    ),
    action("signal a process outside", "kill -CONT $VICTIM && echo DID-IT"),
    action(
        "signal all processes",
        "/bin/kill -CONT -1 2>/dev/null; /bin/kill -0 $VICTIM && echo DID-IT",
    ),
    python(
        "trace a process outside",
        "/usr/bin/python3 - <<'E'
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
pid = int(os.environ['VICTIM'])
if c.ptrace(0x4206, pid, 0, 0) == 0:
    print('DID-IT')
E",
    ),
    python(
        "trace a child",
        "/usr/bin/python3 - <<'E'
import ctypes, os, time
c = ctypes.CDLL(None, use_errno=True)
pid = os.fork()
if pid == 0:
    time.sleep(5); os._exit(0)
if c.ptrace(0x4206, pid, 0, 0) == 0:
    print('DID-IT')
os.kill(pid, 9)
E",
    ),
    action("new user namespace", "unshare -U true && echo DID-IT"),
    python(
        "clone into a namespace",
        "/usr/bin/python3 - <<'E'
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
pid = c.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
if pid > 0:
    print('DID-IT')
E",
    ),
    python(
        "clone3 into a namespace",
        "/usr/bin/python3 - <<'E'
import ctypes, os, struct
c = ctypes.CDLL(None, use_errno=True)
a = struct.pack('8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0)
pid = c.syscall(435, a, 64)
if pid == 0:
    os._exit(0)
if pid > 0:
    print('DID-IT')
E",
    ),
    python(
        "io_uring",
        "/usr/bin/python3 - <<'E'
import ctypes
c = ctypes.CDLL(None, use_errno=True)
if c.syscall(425, 1, ctypes.create_string_buffer(120)) >= 0:
    print('DID-IT')
E",
    ),
    python(
        "add a key to the keyring",
        "/usr/bin/python3 - <<'E'
import ctypes
c = ctypes.CDLL(None, use_errno=True)
if c.syscall(248, b'user', b'ostler', b'x', 1, -2) >= 0:
    print('DID-IT')
E",
    ),
    python(
        "userfaultfd",
        "/usr/bin/python3 - <<'E'
import ctypes
c = ctypes.CDLL(None, use_errno=True)
if c.syscall(323, 1) >= 0:
    print('DID-IT')
E",
    ),
    python(
        "file handles",
        "/usr/bin/python3 - <<'E'
import ctypes, struct
c = ctypes.CDLL(None, use_errno=True)
h = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128))
m = ctypes.c_int()
if c.syscall(303, -100, b'/etc/passwd', h, ctypes.byref(m), 0) == 0:
    print('DID-IT')
E",
    ),
    python(
        "a call by its x32 number",
        "/usr/bin/python3 - <<'E'
import ctypes
c = ctypes.CDLL(None, use_errno=True)
# getpid exists there only if the kernel has x32; socket as ordinary call is refused elsewhere.
if c.syscall(0x40000000 + 39) > 0:
    print('DID-IT')
E",
    ),
];

pub const SOCKETS: &[Action] = &[
    python(
        "connect to a socket of the session",
        "/usr/bin/python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX); s.connect(os.environ[\"SESSION\"] + \"/bus\")
print(\"DID-IT\" if s.recv(5) == b\"hello\" else \"\")'",
    ),
    python(
        "connect to a socket in sight",
        "/usr/bin/python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX); s.connect(os.environ[\"BASE\"] + \"/sight\")
print(\"DID-IT\" if s.recv(5) == b\"hello\" else \"\")'",
    ),
    python(
        "connect to a socket in the root",
        "/usr/bin/python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX); s.connect(os.environ[\"ROOT\"] + \"/inner\")
print(\"DID-IT\" if s.recv(5) == b\"hello\" else \"\")'",
    ),
    python(
        "connect to a socket without a name",
        "/usr/bin/python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX); s.connect(\"\\0\" + os.environ[\"ABSTRACT\"])
print(\"DID-IT\" if s.recv(5) == b\"hello\" else \"\")'",
    ),
    python(
        "send from a pair to another socket",
        "/usr/bin/python3 -c '
import os, socket
s, t = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
s.sendto(b\"x\", os.environ[\"SESSION\"] + \"/log\")
print(\"DID-IT\")'",
    ),
    action(
        "TCP to the host",
        "read -r -N 5 x </dev/tcp/127.0.0.1/$TCP; [ \"$x\" = hello ] && echo DID-IT",
    ),
    python(
        "UDP to the host",
        "/usr/bin/python3 -c '
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3)
s.sendto(b\"x\", (\"127.0.0.1\", int(os.environ[\"UDP\"])))
print(\"DID-IT\" if s.recv(5) == b\"hello\" else \"\")'",
    ),
    python(
        "kernel events by netlink",
        "/usr/bin/python3 -c '
import socket
socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15)
print(\"DID-IT\")'",
    ),
    Action {
        name: "D-Bus",
        script: "dbus-send --bus=unix:path=$SESSION/dbus --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames >/dev/null && echo DID-IT",
        needs: &["/usr/bin/dbus-daemon", "/usr/bin/dbus-send"],
    },
    Action {
        name: "ssh-agent",
        script: "SSH_AUTH_SOCK=$SESSION/agent ssh-add -l; [ $? -le 1 ] && echo DID-IT",
        needs: &["/usr/bin/ssh-agent", "/usr/bin/ssh-add"],
    },
    Action {
        name: "tmux",
        script: "tmux -S $SESSION/tmux list-sessions && echo DID-IT",
        needs: &["/usr/bin/tmux"],
    },
];

/// What only mounts can hold.
pub const FROZEN: &[Action] = &[
    action("write a git hook", "echo x > .git/hooks/pre-commit && echo DID-IT"),
    action("write the git config", "echo x >> .git/config && echo DID-IT"),
    action(
        "replace the git config",
        "echo x > .git/new; mv -f .git/new .git/config && echo DID-IT; rm -f .git/new",
    ),
    action("remove the git config", "rm -f .git/config && echo DID-IT"),
    action("remove the git hooks", "rmdir .git/hooks && echo DID-IT"),
    action(
        "put other hooks in their place",
        "mkdir src/h; mv .git/hooks src/old 2>/dev/null; mv -T src/h .git/hooks && echo DID-IT",
    ),
    action("put another repository in its place", "mv .git src/old && echo DID-IT"),
    action("create a frozen name", "echo x > .git/info/attributes && echo DID-IT"),
    action("change a mode outside", "chmod 600 $OUT/victim && echo DID-IT"),
    action("change a time outside", "touch -d 2001-01-01 $OUT/victim && echo DID-IT"),
];
