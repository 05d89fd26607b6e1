// SPDX-License-Identifier: Apache-2.0
// Made-up documents as `faultline explain --format json` writes them: for tests of the page that need no program.

const PARAMETERS = {
  'exanest_library.post': '300 ns',
  'cpu.mmio_write': '100 ns',
  'cpu.mmio_read': '150 ns',
  'exanest.transfer_startup': '1200 ns',
  'axi.read_latency': '60 ns',
  'axi.clock': '300 MHz',
  'smmu.walk_read': '100 ns',
  'network.hop': '120 ns',
  'cpu.irq_to_handler': '2 us',
  'smmu_driver.handler_body': '1500 ns',
  'exanest_library.parse_fault': '1 us',
  'os.zero_bandwidth': '2 GB/s',
  'exanest.block_timeout': '1 ms',
};
const TERMS = {
  descriptor: 'what a process writes to have a transfer done.',
  library: 'the code that programs call for transfers.',
  SMMU: 'the memory management unit for devices. It translates the virtual addresses that devices use.',
  'page table': 'the tree in memory that says for each page where it is.',
  'page fault': 'an access to a page that the page table does not allow or does not have.',
};
const NAMES = [
  [
    'program',
    'library',
    'firmware on the R5',
    'DMA engine',
    'network',
    'core 0',
    'R5',
    'DMA channel 3',
    'DMA send unit',
    'SMMU TBU 1',
    'link to node 1',
  ],
  [
    'DMA engine',
    'kernel',
    'fault thread',
    'page faults of the device',
    'core 0',
    'SMMU TBU 0',
    'SMMU TCU, walk slot 0',
    'interrupt line 32',
    'kernel calls',
    'link to node 0',
  ],
];
const LANES = NAMES.flatMap((names, node) => names.map((name) => ({node, name})));

// Node, who, nanoseconds, label, sentence, cost.
const POST = [
  [0, 'library', 0, '', 'The program calls the library to post the transfer.', []],
  [
    0,
    'library',
    1000,
    'user post',
    'The library writes the descriptor into the registers of its DMA channel.',
    ['exanest_library.post', '7 cpu.mmio_write'],
  ],
  [0, 'firmware on the R5', 1200, 'R5 start', 'The firmware takes the descriptor and sets the transfer up.', ['exanest.transfer_startup']],
];
const SEND = [
  [0, 'firmware on the R5', 400, 'R5 block scheduling', 'The firmware hands the block to the send unit.', []],
  [
    0,
    'DMA engine',
    300,
    'source read, first cell',
    'The SMMU has translated the address and memory has answered the read.',
    ['axi.*', 'smmu.*'],
  ],
  [0, 'network', 260, 'network', 'The first cell of the block is in the receive unit.', ['network.*']],
];
const FAULT = [
  [
    1,
    'DMA engine',
    420,
    'walk and fault',
    'The SMMU answers an access of the block with an error: the page table that it walks does not allow it.',
    ['axi.*', 'smmu.*'],
  ],
];
const ANSWER = [
  [1, 'kernel', 2000, 'interrupt to handler', 'A core enters the kernel and reaches the context-fault handler.', ['cpu.irq_to_handler']],
  [
    1,
    'kernel',
    2200,
    'handler',
    'The handler reads the fault registers and clears the record. A handler must not sleep, so it cannot bring the page.',
    ['smmu_driver.handler_body', '4 cpu.mmio_read', 'cpu.mmio_write'],
  ],
  [1, 'fault thread', 3000, 'netlink and wake-up', "The library's fault thread takes the message.", ['exanest_library.parse_fault']],
  [1, 'fault thread', 3100, 'resolve', 'The fault thread has the kernel bring the page.', ['os.zero_bandwidth']],
  [0, 'firmware on the R5', 1500, 'request transport', 'The request for the block has come to the R5 of the source.', ['network.*']],
];
const TIMEOUT = [
  [
    0,
    'firmware on the R5',
    1000000,
    'timeout',
    "The block's acknowledgement has not come, and its timeout is over.",
    ['exanest.block_timeout'],
  ],
];
const END = [
  [
    0,
    'DMA engine',
    900,
    'data and acknowledgement',
    'The rest of the block has been written, and its acknowledgement has come back.',
    ['axi.*', 'network.*'],
  ],
  [0, 'library', 250, 'poll', 'The library sees the completion word and returns.', ['exanest_library.post']],
];

const OF_PAGE = {
  entry: 'page table',
  descriptor: 'page table',
  "device's access": 'page table',
  'micro-TLB': 'TLB',
  'macro TLB': 'TLB',
  frame: 'frame',
  mappings: 'frame',
  pins: 'pin',
  VM_LOCKED: 'pin',
};
const BASE = {source: 0xffff8c400000, destination: 0xffffa1b22000};
const hex = (n) => `0x${n.toString(16)}`;
const frameOf = (page) => hex(0x80400000 + 4096 * page);
const present = (page) => ({
  entry: 'present',
  descriptor: `${hex(0x60000080400f43 + 4096 * page)} at level 3`,
  "device's access": 'goes through',
  frame: frameOf(page),
  mappings: '1',
});
const absent = {entry: 'no entry', descriptor: '0x0 at level 2', "device's access": 'faults: absent', frame: '-', mappings: '0'};

class Story {
  /** `faulty`: numbers of the destination's pages that are not there. */
  constructor(strategy, pages, faulty) {
    this.now = 0;
    this.totals = new Map();
    this.json = {
      strategy,
      meaning: `As ${strategy} does it.`,
      point: strategy,
      number: 1,
      planned: 1,
      operation: 'write',
      bytes: pages === 1 ? 64 : 4096 * pages,
      initiator: 0,
      target: 1,
      outcome: 'done',
      why: '',
      begin: 0,
      post: 0,
      end: 0,
      cut: '',
      buffers: [],
      lanes: LANES,
      events: [],
      keys: [],
      state: {},
      changes: [],
      totals: [],
      told: [],
    };
    ['source', 'destination'].forEach((end, node) => {
      const list = Array.from({length: pages}, (_, page) => hex(BASE[end] + 4096 * page));
      this.json.buffers.push({
        end,
        node,
        process: node === 0 ? 'sender' : 'receiver',
        asid: 7,
        address: hex(BASE[end] + (pages === 1 ? 64 : 0)),
        bytes: this.json.bytes,
        va_bits: 48,
        table: "the process's own page table",
        pages: list,
        page_count: pages,
      });
      for (let page = 0; page < pages; ++page) {
        const of = {
          ...(node === 1 && faulty.includes(page) ? absent : present(page)),
          'micro-TLB': '-',
          'macro TLB': '-',
          pins: '0',
          VM_LOCKED: 'no',
        };
        for (const [name, group] of Object.entries(OF_PAGE)) this.key(`${end}/${page}/${name}`, {group, end, page, name}, of[name]);
      }
      for (const name of ['FSR', 'FAR', 'FSYNR0']) this.key(`${end}/${name}`, {group: 'register', end, page: null, name}, '0x0');
    });
    this.values = {...this.json.state};
  }
  key(key, of, value) {
    this.json.keys.push({key, ...of});
    this.json.state[key] = value;
  }
  change(at, key, to, text = '') {
    if (this.values[key] !== to) this.json.changes.push({at, key, from: this.values[key], to, text});
    this.values[key] = to;
  }
  event(node, name, from, to, kind, label, text, more = {}) {
    this.json.events.push({
      lane: LANES.findIndex((lane) => lane.node === node && lane.name === name),
      from,
      to,
      kind,
      label,
      text,
      ...more,
    });
  }
  tell(at, node, who, text, more = {}) {
    this.json.told.push({at, took: 0, node, who, label: '', text, cost: [], attempt: 0, fault: false, ...more});
  }
  steps(list, cause, attempt = 0) {
    for (const [node, who, ns, label, text, cost] of list) {
      const from = this.now;
      this.now += 1000 * ns;
      const name = attempt > 0 ? `${label} (resend ${attempt})` : label;
      this.event(node, who, from, this.now, ns > 0 ? 'step' : 'instant', name || 'post_begin', text, {cost, part: 0, attempt, main: true});
      this.tell(this.now, node, who, text, {took: 1000 * ns, label: name, cost, attempt});
      this.totals.set(cause, (this.totals.get(cause) ?? 0) + 1000 * ns);
    }
  }
  fault(page) {
    const address = hex(BASE.destination + 4096 * page + (this.json.bytes === 64 ? 64 : 0));
    const text = `PAGE FAULT of the device. The SMMU may not let a write at ${address}, page ${page} of the destination, through: no entry. Cause: absent (of memory not touched).`;
    const at = this.now - 60000;
    this.tell(at, 1, 'SMMU', text, {fault: true});
    this.event(1, 'page faults of the device', at, at, 'fault', 'page fault', text, {fault: true});
    this.event(1, 'SMMU TCU, walk slot 0', at - 240000, at, 'slice', 'walk', 'SMMU');
    this.event(1, 'SMMU TBU 0', at - 260000, at, 'slice', 'write misses, fault', 'SMMU');
    this.change(at, 'destination/FSR', '0x402: translation fault');
    this.change(at, 'destination/FAR', address);
  }
  bring(page, at, text = '') {
    for (const [name, value] of Object.entries(present(page))) this.change(at, `destination/${page}/${name}`, value, text);
  }
  end(outcome, why) {
    this.event(0, 'DMA channel 3', 1000000, this.now, 'slice', 'write', 'DMA', {part: 0, attempt: 0});
    this.event(0, 'program', 0, 1000000, 'program', 'post', 'The program posts the transfer.');
    this.event(0, 'program', 1000000, this.now, 'program', 'wait', 'The program waits until the transfer is over.');
    this.event(0, 'core 0', 0, this.now, 'slice', 'sender', 'user');
    const {json} = this;
    Object.assign(json, {outcome, why, end: this.now});
    for (const list of [json.events, json.told, json.changes]) list.sort((a, b) => (a.from ?? a.at) - (b.from ?? b.at));
    json.totals = [...this.totals].map(([cause, ps]) => ({cause, ps, share: (100 * ps) / (json.end - json.begin)}));
    return json;
  }
}

/** `lost`: how many attempts time out at last, of which the transfer then fails; `cells`: further events. */
function faulting(strategy, pages, faulty, {lost = 0, cells = 0} = {}) {
  const story = new Story(strategy, pages, faulty);
  story.steps(POST, 'the transfer itself');
  faulty.forEach((page, attempt) => {
    story.steps([...SEND, ...FAULT], 'attempts that came to nothing', attempt);
    story.fault(page);
    const begun = story.now;
    story.steps(ANSWER, 'answering faults: kernel', attempt);
    story.event(1, 'interrupt line 32', begun, begun + 4200000, 'slice', 'high', 'interrupt');
    story.event(1, 'core 0', begun, begun + 10300000, 'slice', 'irq', 'irq');
    story.event(1, 'kernel calls', begun + 7200000, begun + 10300000, 'slice', 'page fault', 'process 7');
    story.change(begun + 4200000, 'destination/FSR', '0x0');
    story.bring(page, begun + 9000000);
    story.tell(begun + 9000000, 1, 'page table', `Page ${page} of the destination:  no entry -> present.`);
  });
  for (let n = 0; n < lost; ++n) {
    story.steps(SEND, 'attempts that came to nothing', faulty.length + n);
    story.steps(TIMEOUT, 'waiting for a timeout', faulty.length + n);
  }
  if (lost > 0) return story.end('failed', `block 0 timed out ${lost} times`);
  story.steps(SEND, 'the transfer itself', faulty.length);
  story.change(story.now - 400000, 'source/0/micro-TLB', frameOf(0));
  story.event(0, 'DMA send unit', story.now - 560000, story.now, 'slice', 'block', 'DMA');
  for (let page = 0; page < pages; ++page) story.change(story.now + 5000 * page, `destination/${page}/micro-TLB`, frameOf(page));
  story.steps(END, 'the transfer itself', 0);
  for (let n = 0; n < cells; ++n) {
    const from = Math.round(((story.now - 50000) * n) / cells);
    story.event(n % 2, n % 2 ? 'link to node 0' : 'link to node 1', from, from + 40000, 'slice', 'data', 'link', {part: n % 7, attempt: 0});
  }
  return story.end('done', '');
}

function pinned(strategy, pages) {
  const all = Array.from({length: pages}, (_, page) => page);
  const story = new Story(strategy, pages, all);
  story.json.begin = -5000000 - 40000 * pages;
  for (const page of all) {
    const at = story.json.begin + 2000000 + 40000 * page;
    story.bring(page, at, 'by advice');
    story.change(at, `destination/${page}/pins`, '1');
  }
  story.event(0, 'program', story.json.begin, 0, 'program', 'prepare', 'The program has the buffers prepared.');
  story.tell(-3000000, 1, 'kernel', "The kernel executes pin_user_pages for 'receiver'.", {took: 40000 * pages});
  story.totals.set('preparing the buffers before the post', -story.json.begin);
  story.steps([...POST, ...SEND, ...END], 'the transfer itself');
  return story.end('done', '');
}

function document(...stories) {
  const {bytes} = stories[0];
  const size = bytes === 64 ? '64 B' : `${bytes / 1024} KiB`;
  const parameters = Object.entries(PARAMETERS).map(([name, value]) => [
    name,
    {value, description: `what ${name} is`, source: `made up for ${name}`},
  ]);
  return {
    format: 'faultline-explain-1',
    title: `One RDMA write of ${size} from node 0 to node 1`,
    experiment: 'made-up',
    question: 'What does the first page fault cost?',
    seed: 1,
    program: 'faultline',
    terms: TERMS,
    parameters: Object.fromEntries(parameters),
    stories,
  };
}

const first = (n) => Array.from({length: n}, (_, i) => i);
export const FIXTURES = {
  one: () => document(faulting('fault/touch-a-page', 1, [0])),
  warm: () => document(faulting('resident', 1, [])),
  pages: () => document(faulting('fault/touch-a-page', 16, first(6))),
  many: () => document(faulting('fault/touch-a-page', 140, [130])),
  compare: () => document(faulting('fault/touch-a-page', 16, first(3)), pinned('pin-once', 16)),
  failed: () => document(faulting('fault/touch-a-page', 1, [0], {lost: 5})),
  large: () => document(faulting('fault/touch-a-page', 128, first(120), {cells: 20000})),
};
