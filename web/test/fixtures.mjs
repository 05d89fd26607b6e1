// SPDX-License-Identifier: Apache-2.0
// Made-up documents as `faultline explain --format json` writes them: for tests of the page that have no program.

const COSTS = {
  'exanest_library.post': ['300 ns', 'library code of a post', 'assumption'],
  'cpu.mmio_write': ['100 ns', 'an uncached register write', 'measured: Ploumidis 2019, table 3'],
  'cpu.mmio_read': ['150 ns', 'an uncached register read', 'measured: Ploumidis 2019, table 3'],
  'exanest.transfer_startup': ['1.2 us', 'the firmware sets a transfer up', 'calibrated to the 64 B latency'],
  'axi.read_latency': ['60 ns', 'a read on the AXI', 'datasheet'],
  'axi.clock': ['300 MHz', 'of the bus', 'datasheet'],
  'smmu.walk_read': ['100 ns', 'one descriptor read', 'assumption'],
  'ddr.latency': ['90 ns', 'of the memory', 'datasheet'],
  'network.hop': ['120 ns', 'a router', 'datasheet'],
  'exanest.fault_logging': ['10 ns', 'into the FIFO', 'RTL'],
  'cpu.irq_to_handler': ['2 us', 'interrupt controller and kernel entry', 'measured on Linux 4.9'],
  'smmu_driver.handler_body': ['1.5 us', 'the context-fault handler', 'measured on Linux 4.9'],
  'cpu.tasklet_delay': ['3 us', 'to the tasklet', 'assumption'],
  'cpu.context_switch': ['2 us', 'of threads', 'lmbench'],
  'exanest_driver.netlink_send': ['4 us', 'build and queue', 'measured'],
  'exanest_library.parse_fault': ['1 us', 'decodes', 'assumption'],
  'os.anon_minor_fault': ['1.1 us', 'a minor fault', 'lmbench'],
  'os.zero_bandwidth': ['2 GB/s', 'zeroing', 'lmbench'],
  'exanest_library.post_retry': ['500 ns', 'asks again', 'assumption'],
  'exanest.block_timeout': ['1 ms', 'until a block is sent again', 'firmware source'],
};
const TERMS = {
  descriptor: 'what a process writes to have a transfer done.',
  library: 'the code that programs call for transfers.',
  SMMU: 'the memory management unit for devices. It translates the virtual addresses that devices use.',
  'page table': 'the tree in memory that says for each page where it is.',
  netlink: 'messages from the kernel to a process, through a socket.',
  tasklet: 'work that the kernel does soon after an interrupt.',
  RAPF: 'retransmission after page fault: a message that asks the source for a block.',
  'page fault': 'an access to a page that the page table does not allow or does not have.',
  core: 'a part of the processor that executes one thread at a time.',
};
const LANES = [
  [0, 'program'],
  [0, 'library'],
  [0, 'firmware on the R5'],
  [0, 'DMA engine'],
  [0, 'network'],
  [0, 'core 0'],
  [0, 'R5'],
  [0, 'DMA channel 3'],
  [0, 'DMA send unit'],
  [0, 'SMMU TBU 1'],
  [0, 'SMMU TCU, walk slot 0'],
  [0, 'link to node 1'],
  [1, 'DMA engine'],
  [1, 'kernel'],
  [1, 'fault thread'],
  [1, 'interrupts'],
  [1, 'page faults of the device'],
  [1, 'core 0'],
  [1, 'core 1'],
  [1, 'R5'],
  [1, 'SMMU TBU 0'],
  [1, 'SMMU TCU, walk slot 0'],
  [1, 'interrupt line 32'],
  [1, 'SMMU: walks under way'],
  [1, 'kernel calls'],
  [1, 'link to node 0'],
];
const OF_PAGE = [
  ['page table', 'entry'],
  ['page table', 'descriptor'],
  ['page table', "device's access"],
  ['TLB', 'micro-TLB'],
  ['TLB', 'macro TLB'],
  ['frame', 'frame'],
  ['frame', 'mappings'],
  ['pin', 'pins'],
  ['pin', 'VM_LOCKED'],
];
const OF_BANK = ['FSR', 'FAR', 'FSYNR0'];
const hex = (n) => `0x${n.toString(16)}`;
const BASE = {source: 0xffff8c400000, destination: 0xffffa1b22000};

/** `faulty`: numbers of the destination's pages that are not there; `rounds`: attempts lost to a timeout; `pinned`: before the post. */
function story({
  strategy,
  meaning = '',
  pages = 1,
  bytes = 64,
  faulty = [],
  rounds = 0,
  pinned = false,
  outcome = 'done',
  why = '',
  extra = 0,
}) {
  const made = {
    strategy,
    meaning,
    number: 1,
    planned: 1,
    operation: 'write',
    bytes,
    initiator: 0,
    target: 1,
    outcome,
    why,
    begin: 0,
    post: 0,
    end: 0,
    cut: '',
    buffers: [],
    lanes: LANES.map(([node, name]) => ({node, name})),
    events: [],
    keys: [],
    state: {},
    changes: [],
    totals: [],
    told: [],
  };
  const lane = (node, name) => LANES.findIndex((l) => l[0] === node && l[1] === name);
  for (const end of ['source', 'destination']) {
    const list = Array.from({length: pages}, (_, p) => hex(BASE[end] + 4096 * p));
    made.buffers.push({
      end,
      node: end === 'source' ? 0 : 1,
      process: end === 'source' ? 'sender' : 'receiver',
      asid: 7,
      address: hex(BASE[end] + (pages === 1 ? 64 : 0)),
      bytes,
      va_bits: 48,
      table: "the process's own page table",
      pages: list,
    });
    list.forEach((_, p) =>
      OF_PAGE.forEach(([group, name], k) => {
        const key = `${end}/${p}/${name}`;
        const there = end === 'source' || !faulty.includes(p);
        made.keys.push({key, group, end, page: p, name});
        made.state[key] = [
          there ? 'present' : 'no entry',
          there ? `${hex(0x60000080400f43 + 4096 * p)} at level 3` : '0x0 at level 3',
          there ? 'goes through' : 'faults: absent',
          '-',
          '-',
          there ? hex(0x80400000 + 4096 * p) : '-',
          there ? '1' : '0',
          '0',
          'no',
        ][k];
      }),
    );
    OF_BANK.forEach((name) => {
      made.keys.push({key: `${end}/${name}`, group: 'register', end, page: null, name});
      made.state[`${end}/${name}`] = '0x0';
    });
  }
  const now = {...made.state};
  const change = (at, key, to, text = '') => {
    if (now[key] !== to) made.changes.push({at, key, from: now[key], to, text});
    now[key] = to;
  };
  const totals = new Map();
  let t = 0;
  let cause = 'the transfer itself';
  const step = (node, who, took, label, text, cost = [], attempt = 0, part = 0) => {
    const from = t;
    t += Math.round(1000 * took);
    made.events.push({
      lane: lane(node, who),
      from,
      to: t,
      kind: from === t ? 'instant' : 'step',
      label: label || 'post_begin',
      text,
      cost,
      part,
      attempt,
      main: true,
    });
    made.told.push({at: t, took: label ? t - from : 0, node, who, label, text, cost, attempt, fault: false});
    totals.set(cause, (totals.get(cause) ?? 0) + t - from);
  };
  const slice = (node, name, from, to, label, text) => made.events.push({lane: lane(node, name), from, to, kind: 'slice', label, text});
  made.begin = pinned ? -5000000 - 40000 * pages : 0;
  if (pinned) {
    made.events.push({
      lane: 0,
      from: made.begin,
      to: 0,
      kind: 'program',
      label: 'prepare',
      text: "The program has the buffers prepared, its own and, by messages, the other end's.",
    });
    faulty.forEach((p) => {
      const at = made.begin + 2000000 + 40000 * p;
      ['entry', 'descriptor', "device's access", 'frame', 'mappings', 'pins'].forEach((name, k) =>
        change(
          at,
          `destination/${p}/${name}`,
          ['present', `${hex(0x60000090400f43 + 4096 * p)} at level 3`, 'goes through', hex(0x90400000 + 4096 * p), '1', '1'][k],
          'by advice',
        ),
      );
    });
    made.told.push({
      at: made.begin + 2000000 + 40000 * pages,
      took: 40000 * pages,
      node: 1,
      who: 'kernel',
      label: '',
      text: `The kernel executes mlock for 'receiver', with ${faulty.length} page faults.`,
      cost: [],
      attempt: 0,
      fault: false,
    });
    totals.set('preparing the buffers before the post', -made.begin);
  }
  step(0, 'library', 0, '', 'The program calls the library to post the transfer.');
  step(
    0,
    'library',
    1000,
    'user post',
    'The library writes the descriptor (addresses, length, peer) into the registers of its DMA channel. No system call: the registers are mapped into the process.',
    ['exanest_library.post', '7 cpu.mmio_write'],
  );
  made.events.push({lane: 0, from: 0, to: t, kind: 'program', label: 'post', text: 'The program posts the transfer.'});
  const posted = t;
  step(
    0,
    'firmware on the R5',
    1200,
    'R5 start',
    'The firmware on the R5 takes the descriptor from the channel and sets the transfer up.',
    ['exanest.transfer_startup'],
  );
  slice(0, 'R5', t - 1200000, t, 'transfer', 'firmware');
  const missing = pinned ? [] : [...faulty];
  const resend = (n) => (n === 0 ? '' : n === 1 ? ' (resend)' : ` (resend ${n})`);
  for (let attempt = 0; ; ++attempt) {
    const lost = attempt < rounds && missing.length === 0;
    cause = attempt > 0 ? 'attempts that came to nothing' : 'the transfer itself';
    step(
      0,
      'firmware on the R5',
      400,
      `R5 block scheduling${resend(attempt)}`,
      'The firmware hands the block to the send unit.',
      ['exanest.transfer_startup'],
      attempt,
    );
    const sent = t;
    step(
      0,
      'DMA engine',
      300,
      `source read, first cell${resend(attempt)}`,
      'The SMMU has translated the address and memory has answered the read: the first cell leaves for the network.',
      ['axi.*', 'smmu.*', 'ddr.*'],
      attempt,
    );
    change(t - 100000, 'source/0/micro-TLB', '0x80400000');
    change(t - 100000, 'source/0/macro TLB', '0x80400000');
    slice(0, 'SMMU TBU 1', t - 200000, t - 100000, 'miss', 'translation');
    slice(0, 'SMMU TCU, walk slot 0', t - 190000, t - 110000, 'walk', 'translation');
    step(
      0,
      'network',
      260,
      `network${resend(attempt)}`,
      'The first cell of the block has crossed links and routers and is in the receive unit.',
      ['network.*'],
      attempt,
    );
    slice(0, 'link to node 1', t - 250000, t - 100000, 'cells', 'network');
    slice(0, 'DMA send unit', sent, t, 'block', 'DMA');
    if (missing.length === 0 && !lost) break;
    if (lost || (outcome === 'failed' && attempt >= 4)) {
      step(
        0,
        'firmware on the R5',
        1000000,
        `timeout${resend(attempt)}`,
        "The block's acknowledgement has not come, and its timeout is over. The firmware will send the block again, whatever the reason.",
        ['exanest.block_timeout'],
        attempt,
      );
      totals.set(cause, totals.get(cause) - 1e9);
      totals.set('waiting for a timeout', (totals.get('waiting for a timeout') ?? 0) + 1e9);
      if (outcome === 'failed' && attempt >= 4) break;
      continue;
    }
    const p = missing.shift();
    const address = BASE.destination + 4096 * p + (pages === 1 ? 64 : 0);
    cause = 'answering faults: kernel';
    step(
      1,
      'DMA engine',
      420,
      `walk and fault${resend(attempt)}`,
      'The SMMU answers an access of the block with an error: the page table that it walks has no translation that allows the access.',
      ['axi.*', 'smmu.*', 'ddr.*'],
      attempt,
    );
    const text = `PAGE FAULT of the device. The SMMU may not let a write at ${hex(address)}, page ${p} of the destination, through: no entry. Cause: absent (of anonymous memory that the program has not touched).`;
    made.told.push({at: t - 60000, took: 0, node: 1, who: 'SMMU', label: '', text, cost: [], attempt: 0, fault: true});
    made.events.push({
      lane: lane(1, 'page faults of the device'),
      from: t - 60000,
      to: t - 60000,
      kind: 'fault',
      label: 'page fault',
      text,
      fault: true,
    });
    slice(1, 'SMMU TCU, walk slot 0', t - 300000, t - 60000, 'walk', 'translation');
    slice(1, 'SMMU TBU 0', t - 320000, t - 60000, 'miss', 'translation');
    change(t - 60000, 'destination/FSR', '0x40000002: translation fault, an access is stalled');
    change(t - 60000, 'destination/FAR', hex(address));
    change(t - 60000, 'destination/FSYNR0', '0x13');
    const handled = t;
    step(
      1,
      'kernel',
      2000,
      `interrupt to handler${resend(attempt)}`,
      "The SMMU's interrupt line is high, so a core leaves what it did, enters the kernel and reaches the context-fault handler.",
      ['cpu.irq_to_handler'],
      attempt,
    );
    step(
      1,
      'kernel',
      2200,
      `handler${resend(attempt)}`,
      'The handler reads the fault registers of the context bank and clears the record, so that the bank can report the next fault. An interrupt handler must not sleep, so it cannot bring the page.',
      ['smmu_driver.handler_body', '4 cpu.mmio_read', 'cpu.mmio_write'],
      attempt,
    );
    change(t, 'destination/FSR', '0x0');
    slice(1, 'interrupt line 32', handled, t, 'high', 'interrupt');
    step(
      1,
      'kernel',
      3000,
      `tasklet dispatch${resend(attempt)}`,
      'The kernel leaves the interrupt and starts the tasklet that the handler has scheduled.',
      ['cpu.tasklet_delay'],
      attempt,
    );
    step(
      1,
      'kernel',
      5000,
      `tasklet${resend(attempt)}`,
      'The tasklet takes the record from the fault FIFO, finds whose it is, and sends the process a netlink message.',
      ['exanest_driver.netlink_send', '6 cpu.mmio_read'],
      attempt,
    );
    slice(1, 'core 0', handled, t, 'irq', 'kernel');
    cause = 'answering faults: fault thread';
    const woken = t;
    step(
      1,
      'fault thread',
      3000,
      `netlink and wake-up${resend(attempt)}`,
      "The library's fault thread sleeps in recvmsg(). The message wakes it; it gets a core and takes the message.",
      ['cpu.context_switch'],
      attempt,
    );
    step(
      1,
      'fault thread',
      1000,
      `library parse${resend(attempt)}`,
      'The fault thread reads from the message which address and which block it is about.',
      ['exanest_library.parse_fault'],
      attempt,
    );
    const brought = t + 2000000;
    ['entry', 'descriptor', "device's access", 'frame', 'mappings'].forEach((name, k) =>
      change(
        brought,
        `destination/${p}/${name}`,
        ['present', `${hex(0x60000090400f43 + 4096 * p)} at level 3`, 'goes through', hex(0x90400000 + 4096 * p), '1'][k],
      ),
    );
    made.told.push({
      at: brought,
      took: 0,
      node: 1,
      who: 'page table',
      label: '',
      text: `Page ${p} of the destination:  no entry -> present.`,
      cost: [],
      attempt: 0,
      fault: false,
    });
    step(
      1,
      'fault thread',
      3100,
      `resolve${resend(attempt)}`,
      'The fault thread has the kernel bring the page, or pages, by the call that the strategy names.',
      ['os.anon_minor_fault', 'os.zero_bandwidth'],
      attempt,
    );
    slice(1, 'kernel calls', t - 3100000, t, 'page fault', 'process 7');
    slice(1, 'core 1', woken, t, 'fault thread', 'thread');
    step(
      1,
      'fault thread',
      900,
      `retry request${resend(attempt)}`,
      "The fault thread asks for the block again. It writes the request into registers of the DMA engine: a RAPF to the source's R5, or a local retry where the source is on this node.",
      ['exanest_library.post_retry', '4 cpu.mmio_write'],
      attempt,
    );
    cause = 'answering faults: firmware on the R5';
    step(
      0,
      'firmware on the R5',
      1500,
      `request transport${resend(attempt)}`,
      'The request for the block has come to the R5 of the source, through mailboxes and, from the other node, the network.',
      ['network.*'],
      attempt,
    );
  }
  if (outcome === 'done') {
    cause = 'the transfer itself';
    for (let p = 0; p < pages; ++p) change(t + 20000 * p, `destination/${p}/micro-TLB`, hex(0x90400000 + 4096 * p));
    step(
      0,
      'DMA engine',
      900 + 25 * pages,
      'data and acknowledgement',
      'The rest of the block has been read, sent and written, and its acknowledgement has come back to the source.',
      ['axi.*', 'smmu.*', 'network.*'],
    );
    step(0, 'DMA engine', 200, 'notification', 'The DMA engine writes the completion word into memory of the process.', ['axi.*', 'ddr.*']);
    step(
      0,
      'library',
      250,
      'poll',
      'The library, which polls the completion word, sees it and returns. For the program the transfer is over.',
      ['exanest_library.post'],
    );
  }
  made.events.push({lane: 0, from: posted, to: t, kind: 'program', label: 'wait', text: 'The program waits until the transfer is over.'});
  slice(0, 'DMA channel 3', posted, t, 'transfer 1', 'DMA');
  slice(0, 'core 0', 0, t, 'sender', 'thread');
  made.end = t;
  for (let n = 0; n < extra; ++n) {
    const from = Math.round(((made.end - 50000) * n) / extra);
    made.events.push({
      lane: lane(n % 2, n % 2 ? 'link to node 0' : 'link to node 1'),
      from,
      to: Math.min(made.end, from + 40000),
      kind: 'slice',
      label: 'cells',
      text: 'network',
      part: n % 7,
    });
  }
  for (const list of [made.events, made.told, made.changes]) list.sort((a, b) => (a.from ?? a.at) - (b.from ?? b.at));
  const all = made.end - made.begin;
  made.totals = [...totals].map(([name, ps]) => ({cause: name, ps, share: (100 * ps) / all}));
  return made;
}

const TITLES = {64: '64 B', 65536: '64 KiB', 1048576: '1 MiB'};
function document(...stories) {
  const {bytes} = stories[0];
  return {
    format: 'faultline-explain-1',
    title: `One RDMA write of ${TITLES[bytes]} from node 0 to node 1`,
    experiment: 'first-fault',
    question: 'What does the first page fault cost?',
    point: `${stories[0].strategy}, workload.size = ${TITLES[bytes]}`,
    seed: 1,
    program: 'faultline 0.1.0',
    terms: TERMS,
    parameters: Object.fromEntries(
      Object.entries(COSTS).map(([name, [value, description, source]]) => [name, {value, description, source}]),
    ),
    stories,
  };
}
const all = (n) => Array.from({length: n}, (_, i) => i);
const touch = {
  strategy: 'fault/touch-a-page',
  meaning: "The library's fault thread touches the page that the device has faulted on, and asks for the block again.",
};
const pin = {strategy: 'pin-once', meaning: 'Buffers are pinned when they are used first, and stay pinned.', pinned: true};

export const FIXTURES = {
  one: () => document(story({...touch, faulty: [0]})),
  warm: () => document(story({...pin, strategy: 'resident', pinned: false})),
  pages: () => document(story({...touch, pages: 16, bytes: 65536, faulty: all(16)})),
  compare: () =>
    document(story({...touch, pages: 16, bytes: 65536, faulty: all(3)}), story({...pin, pages: 16, bytes: 65536, faulty: all(16)})),
  failed: () =>
    document(
      story({
        ...touch,
        faulty: [0],
        rounds: 5,
        outcome: 'failed',
        why: 'block 0 timed out 5 times, as often as exanest.retry_limit allows',
      }),
    ),
  large: () => document(story({...touch, pages: 128, bytes: 1048576, faulty: all(120), extra: 20000})),
};
