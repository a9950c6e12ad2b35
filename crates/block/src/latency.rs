// SPDX-License-Identifier: MIT OR Apache-2.0
//! What instructions take. Figures are for Skylake's server cores, from the instruction tables of
//! uops.info and Agner Fog where a comment does not say "estimated"; later cores differ by a cycle.
use crate::Core;
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Cycles from operands to result.
    pub latency: u16,
    /// Issue slots taken.
    pub slots: u16,
    /// Cycles for which the divider is busy: it does not take a second operation meanwhile.
    pub divider: u16,
    /// Cycles in which nothing else issues.
    pub serial: u32,
}

impl Timing {
    pub const FREE: Timing = Timing { latency: 0, slots: 0, divider: 0, serial: 0 };

    const fn simple(latency: u16) -> Timing {
        Timing { latency, slots: 1, divider: 0, serial: 0 }
    }
    const fn divide(slots: u16, latency: u16, divider: u16) -> Timing {
        Timing { latency, slots, divider, serial: 0 }
    }
    const fn serial(cycles: u32) -> Timing {
        Timing { latency: 1, slots: 1, divider: 0, serial: cycles }
    }
}

/// `count`: how often a string operation repeats, if that is known.
pub fn timing(instruction: &Instruction, core: &Core, count: Option<u64>) -> Timing {
    if locked(instruction) {
        return Timing::serial(core.rmw);
    }
    if instruction.has_rep_prefix() || instruction.has_repne_prefix() {
        return string(instruction, count.unwrap_or(0));
    }
    divider(instruction)
        .or_else(|| stopping(instruction.mnemonic(), core))
        .unwrap_or_else(|| Timing::simple(latency(instruction)))
}

/// A locked instruction or a full fence without its wait for memory; none if it is another.
pub fn unlocked(instruction: &Instruction) -> Option<Timing> {
    let waits = locked(instruction) || instruction.mnemonic() == Mnemonic::Mfence;
    waits.then_some(Timing::simple(1))
}

fn locked(instruction: &Instruction) -> bool {
    let exchange = instruction.mnemonic() == Mnemonic::Xchg && instruction.op_kinds().any(|k| k == OpKind::Memory);
    instruction.has_lock_prefix() || exchange
}

/// Start-up of microcoded string operations (estimated), and 32 bytes a cycle, as libc's copies do; what looks for an end counts
/// as short.
fn string(instruction: &Instruction, count: u64) -> Timing {
    use Mnemonic::*;
    match instruction.mnemonic() {
        Movsb | Movsw | Movsd | Movsq | Stosb | Stosw | Stosd | Stosq => {
            let bytes = count.saturating_mul(instruction.memory_size().size() as u64);
            Timing::serial(u32::try_from(30 + bytes / 32).unwrap_or(u32::MAX))
        }
        Cmpsb | Cmpsw | Cmpsd | Cmpsq | Scasb | Scasw | Scasd | Scasq => Timing::serial(40),
        _ => Timing::simple(1), // a prefix without meaning here, such as `rep ret`
    }
}

/// Quotients of a few digits: the 64-bit divider takes up to twice as long for full-width ones.
fn divider(instruction: &Instruction) -> Option<Timing> {
    use Mnemonic::*;
    let wide = instruction.op0_register().is_gpr64() || instruction.memory_size().size() == 8;
    Some(match instruction.mnemonic() {
        Div if wide => Timing::divide(36, 36, 21),
        Idiv if wide => Timing::divide(57, 42, 24),
        Div | Idiv => Timing::divide(10, 26, 6),
        Divss | Vdivss | Divps | Vdivps => Timing::divide(1, 11, 3),
        Divsd | Vdivsd | Divpd | Vdivpd => Timing::divide(1, 14, 4),
        Sqrtss | Vsqrtss | Sqrtps | Vsqrtps => Timing::divide(1, 12, 3),
        Sqrtsd | Vsqrtsd | Sqrtpd | Vsqrtpd => Timing::divide(1, 16, 5),
        Fdiv | Fdivp | Fdivr | Fdivrp => Timing::divide(1, 15, 5),
        Fsqrt => Timing::divide(1, 20, 6),
        _ => return None,
    })
}

fn stopping(mnemonic: Mnemonic, core: &Core) -> Option<Timing> {
    use Mnemonic::*;
    Some(match mnemonic {
        Pause => Timing::serial(core.pause),
        Mfence => Timing::serial(core.fence),
        Lfence => Timing::serial(4),
        Sfence => Timing::serial(6),
        Cpuid => Timing::serial(100),
        Rdtsc => Timing::serial(25),
        Rdtscp => Timing::serial(32),
        Clflush | Clflushopt | Clwb => Timing::serial(4), // estimated; the write back is the memory's affair
        Rdrand | Rdseed => Timing::serial(460),
        Xgetbv => Timing::serial(9),
        _ => return None,
    })
}

fn latency(instruction: &Instruction) -> u16 {
    use Mnemonic::*;
    match instruction.mnemonic() {
        Lea => lea(instruction),
        Imul | Mul | Mulx | Popcnt | Lzcnt | Tzcnt | Bsf | Bsr | Pdep | Pext | Crc32 => 3,
        Shld | Shrd => 3,
        Movd | Movq | Vmovd | Vmovq => 2,
        Cvttsd2si | Cvttss2si | Cvtsd2si | Cvtss2si | Vcvttsd2si | Vcvttss2si | Vcvtsd2si | Vcvtss2si => 6,
        Cvtsd2ss | Cvtss2sd | Vcvtsd2ss | Vcvtss2sd => 5,
        Ucomisd | Ucomiss | Comisd | Comiss | Vucomisd | Vucomiss | Vcomisd | Vcomiss => 2,
        Pmovmskb | Movmskps | Movmskpd | Vpmovmskb | Vmovmskps | Vmovmskpd | Ptest | Vptest => 3,
        Pmulld | Vpmulld => 10,
        Aesenc | Aesenclast | Aesdec | Aesdeclast | Vaesenc | Vaesenclast | Vaesdec | Vaesdeclast => 4,
        Pclmulqdq | Vpclmulqdq => 6,
        Vperm2f128 | Vperm2i128 | Vpermq | Vpermd | Vpermps | Vpermpd | Vextractf128 | Vextracti128 | Vinsertf128
        | Vinserti128 => 3,
        Cmpxchg => 5,
        Xchg | Xadd | Bswap => 2,
        mnemonic if floating(mnemonic) => 4,
        mnemonic if vector_multiply(mnemonic) => 5,
        _ => 1,
    }
}

/// Addresses of three parts go through a slower port.
fn lea(instruction: &Instruction) -> u16 {
    let base = instruction.memory_base() != Register::None;
    let index = instruction.memory_index() != Register::None;
    if base && index && instruction.memory_displacement64() != 0 { 3 } else { 1 }
}

fn vector_multiply(mnemonic: Mnemonic) -> bool {
    use Mnemonic::*;
    matches!(
        mnemonic,
        Pmuludq
            | Pmuldq
            | Pmullw
            | Pmulhw
            | Pmulhuw
            | Pmulhrsw
            | Pmaddwd
            | Pmaddubsw
            | Psadbw
            | Vpmuludq
            | Vpmuldq
            | Vpmullw
            | Vpmulhw
            | Vpmulhuw
            | Vpmaddwd
            | Vpmaddubsw
            | Vpsadbw
    )
}

fn floating(mnemonic: Mnemonic) -> bool {
    use Mnemonic::*;
    matches!(
        mnemonic,
        Addsd
            | Addss
            | Addpd
            | Addps
            | Subsd
            | Subss
            | Subpd
            | Subps
            | Mulsd
            | Mulss
            | Mulpd
            | Mulps
            | Maxsd
            | Maxss
            | Maxpd
            | Maxps
            | Minsd
            | Minss
            | Minpd
            | Minps
            | Cmpsd
            | Cmpss
            | Cmppd
            | Cmpps
            | Vaddsd
            | Vaddss
            | Vaddpd
            | Vaddps
            | Vsubsd
            | Vsubss
            | Vsubpd
            | Vsubps
            | Vmulsd
            | Vmulss
            | Vmulpd
            | Vmulps
            | Vmaxsd
            | Vmaxss
            | Vmaxpd
            | Vmaxps
            | Vminsd
            | Vminss
            | Vminpd
            | Vminps
            | Vcmpsd
            | Vcmpss
            | Vcmppd
            | Vcmpps
            | Cvtsi2sd
            | Cvtsi2ss
            | Vcvtsi2sd
            | Vcvtsi2ss
            | Cvtdq2pd
            | Cvtdq2ps
            | Vcvtdq2pd
            | Vcvtdq2ps
            | Cvttps2dq
            | Cvttpd2dq
            | Haddpd
            | Haddps
            | Roundsd
            | Roundss
            | Vfmadd132sd
            | Vfmadd213sd
            | Vfmadd231sd
            | Vfmadd132ss
            | Vfmadd213ss
            | Vfmadd231ss
            | Vfmadd132pd
            | Vfmadd213pd
            | Vfmadd231pd
            | Vfmadd132ps
            | Vfmadd213ps
            | Vfmadd231ps
            | Vfnmadd132sd
            | Vfnmadd213sd
            | Vfnmadd231sd
            | Vfmsub132sd
            | Vfmsub213sd
            | Vfmsub231sd
            | Fadd
            | Faddp
            | Fsub
            | Fsubp
            | Fsubr
            | Fsubrp
            | Fmul
            | Fmulp
    )
}
